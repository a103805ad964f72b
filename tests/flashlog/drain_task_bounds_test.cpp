#include <doctest/doctest.h>

#include <functional>
#include <vector>

#include "opdump/session.hpp"
#include "platform/baremetal/tick_clock.hpp"
#include "platform/flashlog/erases_ahead.hpp"
#include "platform/host/host_memory.hpp"
#include "platform/template/drain_task.hpp"
#include "tests/support/draining_firmware.hpp"
#include "tests/support/flash_contents.hpp"

using namespace opdump;
using namespace opdump::flashlog;
using namespace opdump::tests;

namespace {

/// A kernel whose time goes on only while the task waits.
struct Clockwork {
  void notify() {}
  void wait(std::uint32_t ms) {
    now += ms;
    waiting();
  }
  void sleep(std::uint32_t ms) { now += ms; }
  std::uint32_t now_ms() const { return now; }

  std::uint32_t now = 0;
  std::function<void()> waiting;
};

}  // namespace

TEST_CASE("flash log: a drain task over a log that erases ahead never erases while it drains") {
  FlashEmulator flash({.block_bytes = 4096, .block_count = 16, .program_bytes = 4}, 256);
  const Device device = flash.device();
  std::byte page[FlashLog::kPrefixBytes + 256];
  FlashLog log(device, page, {.prepared_blocks = 3, .erase_budget = 0});
  REQUIRE(log.mount() == Status::ok);
  ErasesAhead ahead(log);
  baremetal::TickClock clock(1000);
  HostMemory host;
  std::byte scratch[2048];
  alignas(8) std::byte ring[16384];
  BasicSession<HostMemory> session(
      {.memory = host, .sink = log, .clock = clock, .scratch = scratch, .when_full = WhenFull::drop});
  BasicRecorder<HostMemory>& recorder = *session.add_recorder(ring).value();
  DumpConfig config;
  config.active = true;
  config.dump_path = "/flash";
  config.models = kDrainedRules;
  ModelPlanFor<1> plan;
  REQUIRE(session.init() == Status::ok);
  REQUIRE(session.set_config(config) == Status::ok);
  REQUIRE(session.load_model(plan, kDrainedModel) == Status::ok);
  const std::vector<std::byte> data(2000, std::byte{5});
  const Dim dims[] = {2000};
  const TensorView tensor = {
      .address = address_of(data.data()), .bytes = data.size(), .dtype = DType::uint8, .shape = dims};
  Clockwork rtos;
  DrainTask task(session, rtos, ahead, 50, 10, 512);
  REQUIRE(task.attach() == Status::ok);
  int turns = 0, erases = 0, erases_in_drains = 0;
  flash.before = [&](FlashEmulator&, const FlashEmulator::Operation& operation) {
    if (!operation.is_erase) return;
    ++erases;
    erases_in_drains += session.is_draining() ? 1 : 0;
  };
  rtos.waiting = [&] {
    if (++turns > 200) {
      // It ends when it has drained what is left.
      static_cast<void>(task.stop(0));
      return;
    }
    for (int step = 0; step < turns % 4; ++step) {
      REQUIRE(recorder.begin_step(plan) == Status::ok);
      REQUIRE(recorder.capture(0, {}, {&tensor, 1}) == Status::ok);
      REQUIRE(recorder.end_step() == Status::ok);
    }
  };
  task.run();
  REQUIRE(task.stop(0) == Status::ok);
  const DumpCounts counts = session.counts();
  CHECK(counts.written == counts.wanted);
  CHECK(counts.written == 300);
  CHECK(counts.sink_failed == 0);
  CHECK(erases > 100);
  CHECK(erases_in_drains == 0);
  CHECK(task.log_failure() == Status::ok);
  CHECK(read_flash(device).count(ObjectState::damaged) == 0);
}
