#pragma once
#include <doctest/doctest.h>

#include <array>
#include <cstring>
#include <vector>

#include "platform/flashlog/flash_log.hpp"
#include "platform/host/host_memory.hpp"
#include "tests/rtos/fake_partition.hpp"
#include "tests/support/flash_contents.hpp"
#include "tests/support/session_bench.hpp"
#include "tests/support/waiting.hpp"

namespace opdump::tests {

/// The device passes on what is asked of it, block by block, and errors become `io_error`.
template <class Port>
void check_device(Port& port, FakePartition& partition) {
  const flashlog::Device device = port.device();
  std::array<std::byte, 256> page;
  for (std::size_t i = 0; i < page.size(); ++i) page[i] = static_cast<std::byte>(i);
  const std::uint32_t last = device.geometry.block_count - 1;
  CHECK(device.erase(device.context, last) == Status::ok);
  CHECK(device.program(device.context, last, 256, page) == Status::ok);
  std::array<std::byte, 7> back;
  CHECK(device.read(device.context, last, 257, back) == Status::ok);
  CHECK(std::memcmp(back.data(), page.data() + 1, back.size()) == 0);
  CHECK(device.sync(device.context) == Status::ok);
  CHECK(port.last_error() == 0);
  CHECK(partition.flash.violation == nullptr);

  CHECK(device.read(device.context, last + 1, 0, back) == Status::io_error);
  CHECK(port.last_error() == FakePartition::kOutside);
  partition.fail_with = -16;
  CHECK(device.read(device.context, 0, 0, back) == Status::io_error);
  CHECK(device.program(device.context, 0, 0, page) == Status::io_error);
  CHECK(device.erase(device.context, 0) == Status::io_error);
  CHECK(port.last_error() == -16);
  partition.fail_with = 0;
}

/// A session that dumps into the partition, drained by the port's task: what was captured is what a reader finds.
template <class Drain, class Log, class Port>
void check_dump(Port& port, FakePartition& partition, Clock& clock) {
  constexpr std::size_t kRecords = 300;
  const flashlog::Device device = port.device();
  std::vector<std::byte> page(Log::kPrefixBytes + 256);
  Log log(device, page, {});
  HostMemory memory;
  std::byte scratch[1024];
  BasicSession<HostMemory> session(
      {.memory = memory, .sink = log, .clock = clock, .scratch = scratch, .block_limit_ms = kWaitLimitMs});
  alignas(8) std::byte ring[1024];
  BasicRecorder<HostMemory>& recorder = *session.add_recorder(ring, {}, WhenFull::block).value();
  REQUIRE(log.mount() == Status::ok);
  REQUIRE(session.init() == Status::ok);
  REQUIRE(session.set_config(everything()) == Status::ok);
  ModelPlanFor<3> plan;
  REQUIRE(session.load_model(plan, kModel) == Status::ok);

  Drain drain(session, log, 5, 3);
  CHECK(drain.stop(0) == Status::not_initialised);
  REQUIRE(drain.start(1) == Status::ok);
  CHECK(drain.start(1) == Status::already_initialised);
  CHECK(session.attach_drainer() == Status::drainer_attached);
  Tensors tensors;
  for (std::size_t step = 0; step < kRecords / 3; ++step) {
    REQUIRE(recorder.begin_step(plan) == Status::ok);
    for (std::size_t op = 0; op < 3; ++op)
      CHECK(recorder.capture(op, {}, {&tensors.output, 1}) == Status::ok);
    REQUIRE(recorder.end_step() == Status::ok);
  }
  REQUIRE(drain.stop(kWaitLimitMs) == Status::ok);
  CHECK(drain.stop(0) == Status::not_initialised);
  CHECK(drain.log_failure() == Status::ok);
  REQUIRE(session.finalize() == Status::ok);
  CHECK(session.counts().written == kRecords);
  CHECK(session.counts().lost() == 0);
  CHECK(partition.flash.violation == nullptr);
  CHECK(port.last_error() == 0);
  CHECK(read_flash(device).count(flashlog::ObjectState::committed) == kRecords);
}

}  // namespace opdump::tests
