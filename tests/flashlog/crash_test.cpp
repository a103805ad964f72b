#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "opdump/session.hpp"
#include "platform/flashlog/crash_flush.hpp"
#include "platform/host/host_memory.hpp"
#include "tests/support/fakes.hpp"
#include "tests/support/flash_contents.hpp"
#include "tests/support/flash_emulator.hpp"

namespace {

using namespace opdump;
using namespace opdump::tests;
using flashlog::FlashLog;
using flashlog::ObjectState;

constexpr flashlog::Geometry kPart = {
    .block_bytes = 4096, .block_count = 8, .program_bytes = 1, .bits_only_clear = true};
const OpDesc kOps[] = {{.name = "a", .type = "T", .task_id = 1, .stream_id = 2}};
const ModelDesc kModel = {.name = "net", .ops = kOps};
const ModelRule kAny[] = {{.any_model = true}};

/// What firmware has, with a session that dumps to flash.
struct Firmware {
  explicit Firmware(ExceptionDump exception) {
    REQUIRE(log.mount() == Status::ok);
    DumpConfig config = {.active = true, .models = kAny};
    config.exception = exception;
    REQUIRE(session.init() == Status::ok);
    REQUIRE(session.set_config(config) == Status::ok);
    REQUIRE(session.load_model(plan, kModel) == Status::ok);
    while (log.prepare().value()) continue;
  }

  /// Runs the operator in `steps` steps, and begins one more, in which the fault strikes.
  void run(int steps) {
    for (int step = 0; step <= steps; ++step) {
      REQUIRE(recorder.begin_step(plan) == Status::ok);
      recorder.begin_op(0, {&tensor, 1}, {&tensor, 1});
      if (step == steps) return;
      if (recorder.wants(0)) REQUIRE(recorder.capture(0, {}, {&tensor, 1}) == Status::ok);
      REQUIRE(recorder.end_step() == Status::ok);
    }
  }

  std::size_t committed() const { return read_flash(device).count(ObjectState::committed); }

  FlashEmulator flash{kPart, 256};
  flashlog::Device device = flash.device();
  std::vector<std::byte> page = std::vector<std::byte>(FlashLog::kPrefixBytes + 256);
  FlashLog log{device, page, {.prepared_blocks = 2}};
  HostMemory memory;
  FakeClock clock;
  std::byte scratch[1024];
  alignas(8) std::byte ring[4096];
  BasicSession<HostMemory> session{
      {.memory = memory, .sink = log, .clock = clock, .scratch = scratch, .when_full = WhenFull::drop}};
  BasicRecorder<HostMemory>& recorder = *session.add_recorder(ring).value();
  ModelPlanFor<1> plan;
  const float values[4] = {1, 2, 3, 4};
  const Dim dims[1] = {4};
  const TensorView tensor = {address_of(values), 16, DType::float32, Format::nd, dims};
};

}  // namespace

TEST_CASE("crash: what the rings hold goes to the flash log, without an erase") {
  Firmware firmware(ExceptionDump::none);
  firmware.run(5);
  REQUIRE(firmware.committed() == 0);
  const std::uint64_t erases = firmware.flash.erases;
  CHECK(crash_flush(firmware.log, firmware.session, &firmware.recorder) == Status::ok);
  firmware.flash.cut();
  firmware.flash.power_on();
  CHECK(firmware.committed() == 5);
  CHECK(firmware.flash.erases == erases);
  CHECK(firmware.session.drain_some(SIZE_MAX) == 0);
}

TEST_CASE("crash: the operator that was running goes to the flash log") {
  Firmware firmware(ExceptionDump::brief);
  firmware.run(5);
  CHECK(crash_flush(firmware.log, firmware.session, &firmware.recorder) == Status::ok);
  CHECK(firmware.committed() == 1);
}

TEST_CASE("crash: inside a call of the log only what was committed stays") {
  Firmware firmware(ExceptionDump::none);
  firmware.run(3);
  Status status = Status::ok;
  firmware.flash.before = [&](FlashEmulator& flash, const FlashEmulator::Operation&) {
    flash.before = nullptr;
    status = crash_flush(firmware.log, firmware.session);
    flash.cut();
  };
  while (firmware.session.drain_some(SIZE_MAX) != 0) continue;
  static_cast<void>(firmware.log.sync());
  firmware.flash.power_on();
  CHECK(status == Status::unfinished);
  CHECK(firmware.flash.violation == nullptr);
  CHECK(firmware.committed() < 3);
}
