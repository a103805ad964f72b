#include <doctest/doctest.h>

#include <memory>
#include <random>
#include <string>
#include <vector>

#include "opdump/parts/trigger_days.hpp"
#include "opdump/parts/triggers.hpp"
#include "opdump/session.hpp"
#include "platform/flashlog/day_blocks.hpp"
#include "tests/support/effort.hpp"
#include "tests/support/fakes.hpp"
#include "tests/support/flash_emulator.hpp"
#include "tests/support/kept_histories.hpp"
#include "tests/support/parsed_config.hpp"

using namespace opdump;
using namespace opdump::flashlog;
using namespace opdump::tests;

namespace {

constexpr std::uint32_t kDayPage = 64;
constexpr std::uint64_t kNewYear = 1'767'268'800'000'000;  // of 1 January 2026
constexpr std::uint64_t kHourUs = 3'600'000'000;

/// What a device has behind its triggers, over all boots: counts what arrives, until the power fails.
class DayDump final : public Sink {
 public:
  Result<ObjectId> begin(const ObjectName&) override {
    if (off) return Status::io_error;
    return ObjectId{++objects};
  }
  Status append(ObjectId, std::span<const Bytes> parts) override { return take(parts, bytes); }
  Status commit(ObjectId, ObjectId = kNoObject) override { return off ? Status::io_error : Status::ok; }
  void abort(ObjectId) override {}
  Status append_lines(const ObjectName&, std::span<const Bytes> parts) override {
    std::string text;
    for (const Bytes part : parts) text += as_text(part);
    if (off) return Status::io_error;
    for (std::size_t at = text.find("fired,"); at != text.npos; at = text.find("fired,", at + 1)) {
      ++fired;
      bytes += text.find('\n', at) + 1 - at;
    }
    return Status::ok;
  }
  Status sync() override { return off ? Status::io_error : Status::ok; }

  /// The power fails once so many bytes have arrived.
  std::uint64_t cut_at = UINT64_MAX;
  bool off = false;
  std::uint64_t bytes = 0;
  std::uint32_t fired = 0;
  std::uint32_t objects = 0;

 private:
  Status take(std::span<const Bytes> parts, std::uint64_t& count) {
    for (const Bytes part : parts) {
      if (off) return Status::io_error;
      count += part.size();
      off = count >= cut_at;
    }
    return off ? Status::io_error : Status::ok;
  }
};

/// The parts of a device that stay: the day's blocks, the dump, and the time.
struct LastingDevice {
  FlashEmulator part{{.block_bytes = 512, .block_count = 3, .program_bytes = 8}, kDayPage};
  Device device = part.device();
  DayDump dump;
  FakeClock clock;

  void power_on() {
    part.power_on();
    dump.off = false;
    dump.cut_at = UINT64_MAX;
  }
  bool is_off() const { return dump.off || part.off; }
};

/// One boot of it, under a config whose first trigger fires at each step.
template <class History = HistoryInMemory>
struct DayBoot {
  DayBoot(LastingDevice& on, const std::string& options, bool keeps_days = true)
      : of(on),
        parsed(R"({"dump": {"dump_path": "/d", "dump_list": [{}]}, "opdump": {"history_steps": 2,
                   "after_steps": 1, "trigger": [{"op": "a", "stat": "max", "below": 5)" +
               options),
        kept(on.dump),
        blocks(on.device, 1, page),
        days(kept.history, blocks, on.clock),
        sink(days, on.dump, on.clock, room.room()),
        looks(sink),
        session({.memory = memory,
                 .sink = sink,
                 .clock = on.clock,
                 .scratch = scratch,
                 .when_full = WhenFull::drop,
                 .triggers = &looks}),
        recorder(*session.add_recorder(ring).value()) {
    CAPTURE(parsed.error.key);
    REQUIRE(parsed.status == Status::ok);
    on.clock.now_ms = 0;
    REQUIRE(session.configure(parsed.config.options) == Status::ok);
    REQUIRE(sink.follow(parsed.config.options, session.journal()) == Status::ok);
    if (keeps_days) days.resume(sink);
    REQUIRE(session.init() == Status::ok);
    REQUIRE(session.set_config(parsed.config) == Status::ok);
    REQUIRE(session.load_model(plan, model) == Status::ok);
  }

  void pass(std::uint64_t us) {
    of.clock.now_us += us;
    of.clock.now_ms += static_cast<std::uint32_t>(us / 1000);
  }

  /// Steps of a second each. Stops where the power fails.
  void steps(std::uint32_t count) {
    const float low = 1;
    const Dim dims[] = {1};
    for (std::uint32_t step = 0; step < count && !of.is_off(); ++step) {
      const TensorView output = {
          .address = address_of(&low), .bytes = 4, .dtype = DType::float32, .shape = dims};
      static_cast<void>(recorder.begin_step(plan));
      static_cast<void>(recorder.capture(0, {}, {&output, 1}));
      static_cast<void>(recorder.end_step());
      session.drain_some(SIZE_MAX);
      pass(1'000'000);
    }
  }

  /// Steps, and an end in order.
  void run(std::uint32_t count) {
    steps(count);
    REQUIRE(session.finalize() == Status::ok);
  }

  LastingDevice& of;
  ParsedConfig parsed;
  FakeMemory memory;
  History kept;
  std::byte page[kDayPage];
  DayBlocks blocks;
  TriggerDays days;
  TriggerMemory<2, 2, 4> room;
  TriggerSink sink;
  Triggers<FakeMemory> looks;
  std::byte scratch[1024];
  alignas(8) std::byte ring[8192];
  BasicSession<FakeMemory> session;
  BasicRecorder<FakeMemory>& recorder;
  const OpDesc ops[1] = {{.name = "a", .type = "Relu", .task_id = 1}};
  const ModelDesc model{.name = "net", .id = 1, .ops = ops};
  ModelPlanFor<1> plan;
};

std::string day_limits(std::uint64_t bytes, std::uint32_t firings) {
  return R"(}], "trigger_limits": {"bytes_per_day": )" + std::to_string(bytes) + R"(, "firings_per_day": )" +
         std::to_string(firings) + "}}}";
}

std::uint32_t fired_in_boot(LastingDevice& device, const std::string& options, std::uint32_t steps,
                            bool keeps_days = true) {
  const std::uint32_t before = device.dump.fired;
  std::make_unique<DayBoot<>>(device, options, keeps_days)->run(steps);
  return device.dump.fired - before;
}

}  // namespace

TEST_CASE("trigger days: fifty boots of a day have what one boot has") {
  LastingDevice device;
  device.power_on();
  device.clock.now_us = kNewYear;
  const std::string options = day_limits(100'000, 20);
  for (int boot = 0; boot < 50; ++boot) {
    CHECK(fired_in_boot(device, options, 1) == (boot < 20 ? 1 : 0));
    CHECK(device.part.violation == nullptr);
  }
  // The next day has its own.
  device.clock.now_us += 24 * kHourUs;
  CHECK(fired_in_boot(device, options, 30) == 20);
  CHECK(fired_in_boot(device, options, 30) == 0);
  // Without it each boot had.
  CHECK(fired_in_boot(device, options, 30, false) == 20);
}

TEST_CASE_TEMPLATE("trigger days: fifty boots of a day stay within its limits wherever the power fails",
                   History, HistoryInMemory, HistoryInFlash) {
  constexpr std::uint64_t kBytes = 6000;
  constexpr std::uint32_t kFirings = 30;
  std::uint32_t cuts_in_blocks = 0, cuts_in_dump = 0;
  std::uint64_t least = UINT64_MAX;
  for (std::uint32_t seed = 1; seed <= rounds(300); ++seed) {
    CAPTURE(seed);
    std::minstd_rand random(seed);
    LastingDevice device;
    device.part.unsteady = seed % 2 == 0;
    device.clock.now_us = kNewYear - 10 * kHourUs;
    const auto bytes_at = [&] { return device.dump.bytes; };
    for (int boot = 0; boot < 50; ++boot) {
      device.power_on();
      const std::uint32_t kind = random() % 3;
      if (kind == 0) {
        device.part.cut_at = device.part.operations + 1 + random() % 6;
        device.part.cut_byte = random() % 40;
      } else if (kind == 1) {
        device.dump.cut_at = bytes_at() + 1 + random() % 400;
      }
      auto running = std::make_unique<DayBoot<History>>(device, day_limits(kBytes, kFirings));
      running->steps(1 + random() % 4);
      cuts_in_blocks += device.part.off ? 1 : 0;
      cuts_in_dump += device.dump.off ? 1 : 0;
      device.clock.now_us += random() % 60 * 1'000'000;
      // What the power cut leaves of the objects in memory does nothing more.
      device.dump.off = device.part.off = true;
      static_cast<void>(running->session.finalize());
    }
    CHECK(device.dump.bytes <= kBytes);
    CHECK(device.dump.fired <= kFirings);
    CHECK(device.part.violation == nullptr);
    least = device.dump.bytes < least ? device.dump.bytes : least;
  }
  CHECK(cuts_in_blocks > rounds(300));
  CHECK(cuts_in_dump > rounds(300));
  // The limits are used, too.
  CHECK(least > kBytes / 4);
}

TEST_CASE("trigger days: without a calendar the day of all boots goes on for 24 hours of running") {
  LastingDevice device;
  device.power_on();
  device.clock.now_us = 5;
  const std::string options = day_limits(100'000, 3);
  CHECK(fired_in_boot(device, options, 2) == 2);
  device.clock.now_us = 5;
  CHECK(fired_in_boot(device, options, 9) == 1);
  device.clock.now_us = 5;
  CHECK(fired_in_boot(device, options, 9) == 0);
  DayBoot<> last(device, options);
  last.pass(24 * kHourUs - 40'000'000);
  last.steps(1);
  CHECK(last.sink.counts().fired == 0);
  last.pass(60'000'000);
  last.steps(9);
  CHECK(last.sink.counts().fired == 3);
}

TEST_CASE("trigger days: a clock that comes to know the calendar ends the day of an earlier boot") {
  for (const std::uint64_t days_later : {0, 1}) {
    CAPTURE(days_later);
    LastingDevice device;
    device.power_on();
    device.clock.now_us = kNewYear;
    const std::string options = day_limits(100'000, 3);
    CHECK(fired_in_boot(device, options, 9) == 3);
    device.clock.now_us = 5;
    DayBoot<> boot(device, options);
    boot.steps(2);
    CHECK(boot.sink.counts().fired == 0);
    device.clock.now_us = kNewYear + kHourUs + days_later * 24 * kHourUs;
    boot.steps(9);
    CHECK(boot.sink.counts().fired == (days_later == 0 ? 0 : 3));
  }
}

TEST_CASE("trigger days: a clock that is set back and on again gives no second day") {
  LastingDevice device;
  device.power_on();
  device.clock.now_us = kNewYear;
  const std::string options = day_limits(100'000, 3);
  CHECK(fired_in_boot(device, options, 9) == 3);
  device.clock.now_us = kNewYear - 30 * kHourUs;
  CHECK(fired_in_boot(device, options, 2) == 0);
  DayBoot<> boot(device, options);
  device.clock.now_us = kNewYear;
  boot.steps(3);
  CHECK(boot.sink.counts().fired == 0);
}

TEST_CASE("trigger days: a cooldown lasts over a boot, and begins anew without a calendar") {
  const std::string options = R"(, "cooldown_s": 600}]}})";
  for (const bool known : {true, false}) {
    CAPTURE(known);
    LastingDevice device;
    device.power_on();
    device.clock.now_us = known ? kNewYear : 5;
    CHECK(fired_in_boot(device, options, 1) == 1);
    const std::uint64_t end = device.clock.now_us + 599'000'000;
    device.clock.now_us = known ? end - 5'000'000 : 5;
    CHECK(fired_in_boot(device, options, 3) == 0);
    device.clock.now_us = known ? end + 1'000'000 : 5;
    CHECK(fired_in_boot(device, options, 3) == (known ? 1 : 0));
    if (known) continue;
    DayBoot<> boot(device, options);
    boot.pass(599'000'000);
    boot.steps(1);
    CHECK(boot.sink.counts().fired == 0);
    boot.steps(2);
    CHECK(boot.sink.counts().fired == 1);
  }
}

TEST_CASE("trigger days: a firing that cannot be saved is held back") {
  LastingDevice device;
  device.power_on();
  device.clock.now_us = kNewYear;
  device.part.set_fault(1, FlashEmulator::Fault::erase_fails);
  device.part.set_fault(2, FlashEmulator::Fault::program_fails);
  DayBoot<> boot(device, day_limits(100'000, 20));
  for (std::uint32_t block : {1u, 2u}) device.part.set_fault(block, FlashEmulator::Fault::program_fails);
  boot.steps(5);
  CHECK(device.dump.bytes == 0);
  CHECK(boot.sink.counts().fired == 0);
  CHECK(boot.sink.counts().held[static_cast<std::size_t>(HeldFiring::bytes)] == 5);
}

TEST_CASE(
    "trigger days: blocks of flash have the latest record or the one before, wherever the power fails") {
  const auto record = [](std::uint32_t number, std::size_t triggers) {
    std::vector<std::byte> bytes(DayRecord::kHeadBytes + 4 * triggers + 4, static_cast<std::byte>(number));
    store_little_endian(bytes.data(), DayRecord::kMagic);
    store_little_endian(bytes.data() + 4, number);
    bytes[33] = static_cast<std::byte>(triggers);
    store_little_endian(bytes.data() + bytes.size() - 4, crc32c(0, bytes.data(), bytes.size() - 4));
    return bytes;
  };
  std::size_t cuts = 0;
  for (const std::uint32_t unit : {1u, 8u, 64u}) {
    for (std::uint32_t boots = 1; boots <= 3; ++boots) {
      for (std::uint64_t at = 1; at < 400; at = next_way(at)) {
        CAPTURE(unit);
        CAPTURE(at);
        FlashEmulator part({.block_bytes = 512, .block_count = 3, .program_bytes = unit}, kDayPage,
                           static_cast<std::uint32_t>(at));
        part.unsteady = at % 2 == 0;
        part.power_on();
        const Device device = part.device();
        std::byte page[kDayPage];
        std::byte found[DayRecord::kMostBytes];
        std::uint32_t saved = 0;
        part.cut_at = at / 8 + 1;
        part.cut_byte = static_cast<std::uint32_t>(at % 8 * 9);
        for (std::uint32_t boot = 0; boot < boots && !part.off; ++boot) {
          DayBlocks blocks(device, 1, page);
          const std::size_t bytes = blocks.load(found);
          REQUIRE((bytes == 0) == (saved == 0));
          if (bytes != 0) REQUIRE(DayRecord::number({found, bytes}) == saved);
          for (std::size_t i = 0; i < 9 && !part.off; ++i) {
            const std::vector<std::byte> next = record(saved + 1, (saved + at) % 5);
            if (blocks.save(next) == Status::ok) ++saved;
          }
        }
        cuts += part.off ? 1 : 0;
        const bool was_off = part.off;
        part.power_on();
        DayBlocks blocks(device, 1, page);
        const std::size_t bytes = blocks.load(found);
        const std::uint32_t number = bytes == 0 ? 0 : DayRecord::number({found, bytes});
        CHECK((number == saved || (was_off && number == saved + 1)));
        CHECK(blocks.save(record(saved + 2, 1)) == Status::ok);
        CHECK(blocks.load(found) == record(0, 1).size());
        CHECK(DayRecord::number({found, record(0, 1).size()}) == saved + 2);
        CHECK(part.violation == nullptr);
        CHECK(part.erases_of(0) == 0);
      }
    }
  }
  CHECK(cuts > 50);
}

TEST_CASE("trigger days: a record that is damaged, or of no known form, is none") {
  LastingDevice device;
  device.power_on();
  device.clock.now_us = kNewYear;
  const std::string options = day_limits(100'000, 20);
  CHECK(fired_in_boot(device, options, 20) == 20);
  for (std::byte& byte : device.part.memory()) byte ^= std::byte{1};
  CHECK(fired_in_boot(device, options, 3) == 3);
}
