#include <doctest/doctest.h>

#include <atomic>
#include <filesystem>
#include <set>
#include <string>
#include <string_view>
#include <thread>

#include "opdump/parts/settable_clock.hpp"
#include "opdump/session.hpp"
#include "platform/flashlog/flash_log.hpp"
#include "platform/host/host_memory.hpp"
#include "platform/posix/drain_thread.hpp"
#include "platform/posix/tree_sink.hpp"
#include "tests/support/c_api_dump.hpp"
#include "tests/support/fakes.hpp"
#include "tests/support/flash_contents.hpp"
#include "tests/support/flash_emulator.hpp"
#include "tests/support/journal_account.hpp"
#include "tests/support/one_op_session.hpp"
#include "tests/support/session_bench.hpp"
#include "tests/support/temporary_directory.hpp"

using namespace opdump;
using namespace opdump::tests;

namespace {

constexpr ClockStep kClockStep = {.shown_us = 12'000'000, .unix_us = 1'795'500'000'000'000};
constexpr std::string_view kStepLine = "clock,12000000,1795500000000000\n";

std::size_t count_of(std::string_view text, std::string_view part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++count;
  return count;
}

/// Counts microseconds from boot.
class Counter final : public Clock {
 public:
  std::uint64_t unix_us() override { return us; }
  std::int32_t utc_offset_seconds() override { return 3600; }
  std::uint32_t monotonic_ms() override { return 7; }
  void pause() override { ++pauses; }

  std::uint64_t us = 1000;
  int pauses = 0;
};

}  // namespace

TEST_CASE("clock step: the journals of all configs in use have it") {
  for (const JournalDetail detail : {JournalDetail::records, JournalDetail::gaps}) {
    Bench<4096> bench(WhenFull::drop, 50, detail);
    bench.start(everything());
    bench.step();
    // The model is still loaded under the first config.
    REQUIRE(bench.session.set_config(everything()) == Status::ok);
    REQUIRE(bench.session.tell_clock(kClockStep) == Status::ok);
    CHECK(bench.sink.journals.size() == 2);
    REQUIRE(bench.session.finalize() == Status::ok);
    for (const auto& journal : bench.sink.journals) {
      const std::string& text = journal.second;
      CAPTURE(text);
      CHECK(count_of(text, kStepLine) == 1);
      if (detail == JournalDetail::records) CHECK(account_of(text).wrong == "");
    }
  }
}

TEST_CASE("clock step: nothing is told where a step makes no sense or nobody can hear of it") {
  Bench<4096> bench;
  CHECK(bench.session.tell_clock(kClockStep) == Status::not_initialised);
  REQUIRE(bench.session.init() == Status::ok);
  CHECK(bench.session.tell_clock({.shown_us = 5, .unix_us = 5}) == Status::invalid_argument);
  CHECK(bench.session.tell_clock({.shown_us = 6, .unix_us = 5}) == Status::invalid_argument);
  CHECK(bench.session.tell_clock(kClockStep) == Status::ok);  // no config is in use
  CHECK(bench.sink.journals.empty());
  Bench<4096> silent(WhenFull::drop, 50, JournalDetail::none);
  silent.start(everything());
  CHECK(silent.session.tell_clock(kClockStep) == Status::not_supported);
  // A dump of failures has a journal from the first failure on.
  Bench<4096> failures;
  DumpConfig config = everything();
  config.exception = ExceptionDump::norm;
  failures.start(config);
  CHECK(failures.session.tell_clock(kClockStep) == Status::ok);
  REQUIRE(failures.session.finalize() == Status::ok);
  CHECK(failures.sink.journals.empty());
}

TEST_CASE("clock step: a journal that the sink refuses says so, and records go on") {
  Bench<4096> bench;
  bench.start(everything());
  bench.sink.fail_at = 0;
  CHECK(bench.session.tell_clock(kClockStep) == Status::ok);
  CHECK(bench.session.journal_failure() == Status::no_space);
  bench.step();
  CHECK(bench.session.finalize() == Status::no_space);
  CHECK(bench.session.counts().written == 3);
}

TEST_CASE("clock step: a drain thread tells it") {
  Bench<4096> bench(WhenFull::block);
  bench.clock.ms_per_pause = 0;  // however busy the machine is
  bench.start(everything());
  posix::DrainThread<BasicSession<FakeMemory>> thread;
  REQUIRE(thread.start(bench.session) == Status::ok);
  bench.step();
  CHECK(bench.session.tell_clock(kClockStep) == Status::ok);
  thread.stop();
  REQUIRE(bench.session.finalize() == Status::ok);
  REQUIRE(bench.sink.journals.size() == 1);
  CHECK(count_of(bench.sink.journals.begin()->second, kStepLine) == 1);
}

TEST_CASE(
    "clock step: a sink that takes longer than any limit delays the line and finalize, and loses none") {
  // Time goes by while somebody waits, and the sink waits for that.
  struct WaitedClock final : Clock {
    std::uint64_t unix_us() override { return 1'700'000'000'000'000; }
    std::int32_t utc_offset_seconds() override { return 0; }
    std::uint32_t monotonic_ms() override { return now; }
    void pause() override { now = now < 5000 ? now + 100 : now.load(); }
    std::atomic<std::uint32_t> now{0};
  };
  struct HeldSink final : FakeSink {
    Status commit(ObjectId id, ObjectId with) override {
      for (is_held = true; clock.now < 5000;) std::this_thread::yield();
      if (is_slow) clock.now += 4000;
      return FakeSink::commit(id, with);
    }
    WaitedClock clock;
    std::atomic<bool> is_held{false};
    bool is_slow = false;
  } sink;
  OneOpSession capturing(sink, sink.clock);
  REQUIRE(capturing.session.configure({.block_limit_ms = 1}) == Status::ok);
  capturing.start();
  posix::DrainThread<BasicSession<HostMemory>> thread;
  REQUIRE(thread.start(capturing.session) == Status::ok);
  REQUIRE(capturing.step(as_bytes("abc")) == Status::ok);
  while (!sink.is_held) std::this_thread::yield();
  CHECK(capturing.session.tell_clock(kClockStep) == Status::ok);
  thread.stop();
  // What is left goes by in `finalize`, a long time for each record.
  for (int i = 0; i < 5; ++i) REQUIRE(capturing.step(as_bytes("abc")) == Status::ok);
  sink.is_slow = true;
  CHECK(capturing.session.finalize() == Status::ok);
  CHECK(sink.objects.size() == 6);
  CHECK(sink.clock.now == 5000 + 5 * 4000);
  CHECK(count_of(sink.journals.begin()->second, kStepLine) == 1);
}

TEST_CASE("clock step: a settable clock goes on from the time it is given, and never back") {
  Counter counter;
  SettableClock clock(counter);
  CHECK(clock.unix_us() == 1000);
  counter.us = 5000;
  const Result<ClockStep> first = clock.set(1'000'000);
  REQUIRE(first.ok());
  CHECK(first.value().shown_us == 5000);
  CHECK(first.value().unix_us == 1'000'000);
  counter.us += 70;
  CHECK(clock.unix_us() == 1'000'070);
  CHECK(clock.set(1'000'070).status() == Status::invalid_argument);
  CHECK(clock.set(3).status() == Status::invalid_argument);
  const Result<ClockStep> second = clock.set(1'000'071);
  REQUIRE(second.ok());
  CHECK(second.value().shown_us == 1'000'070);
  CHECK(clock.unix_us() == 1'000'071);
  CHECK(clock.utc_offset_seconds() == 3600);
  CHECK(clock.monotonic_ms() == 7);
  clock.pause();
  CHECK(counter.pauses == 1);
}

TEST_CASE("clock step: who reads while the clock is set sees a time of before or of after") {
  constexpr std::uint64_t kAhead = std::uint64_t{1} << 33;
  Counter counter;
  SettableClock clock(counter);
  std::atomic<bool> stop{false};
  std::atomic<std::uint32_t> wrong{0};
  std::thread reader([&] {
    std::uint64_t before = 0;
    while (!stop.load()) {
      const std::uint64_t us = clock.unix_us();
      if (us < before || us % kAhead != 1000) ++wrong;
      before = us;
    }
  });
  for (std::uint64_t i = 1; i <= 20000; ++i) CHECK(clock.set(1000 + i * kAhead).ok());
  stop = true;
  reader.join();
  CHECK(wrong == 0);
}

TEST_CASE("clock step: C tells it too") {
  CDump dump;
  CHECK(opdump_session_tell_clock(nullptr, 1, 2) == OPDUMP_ERR_INVALID_ARGUMENT);
  CHECK(opdump_session_tell_clock(dump.session, 1, 2) == OPDUMP_ERR_NOT_INITIALISED);
  REQUIRE(opdump_session_init(dump.session) == OPDUMP_OK);
  REQUIRE(opdump_session_set_config(dump.session, dump.config) == OPDUMP_OK);
  CHECK(opdump_session_tell_clock(dump.session, 2, 2) == OPDUMP_ERR_INVALID_ARGUMENT);
  CHECK(opdump_session_tell_clock(dump.session, kClockStep.shown_us, kClockStep.unix_us) == OPDUMP_OK);
  REQUIRE(opdump_session_finalize(dump.session) == OPDUMP_OK);
  REQUIRE(dump.received.journals.size() == 1);
  CHECK(count_of(dump.received.journals.begin()->second, kStepLine) == 1);
}

namespace {

/// Two recorders that capture one operator, under a clock that stands still.
class OneTick {
 public:
  OneTick(Sink& sink, std::string_view root)
      : session_({.memory = memory_,
                  .sink = sink,
                  .clock = clock_,
                  .scratch = scratch_,
                  .when_full = WhenFull::drop,
                  .journal = JournalDetail::records}),
        recorders_{session_.add_recorder(rings_[0]).value(), session_.add_recorder(rings_[1]).value()} {
    clock_.us_per_reading = 0;
    DumpConfig config;
    config.active = true;
    config.dump_path = root;
    config.single_ops = true;
    REQUIRE(session_.init() == Status::ok);
    REQUIRE(session_.set_config(config) == Status::ok);
  }

  void capture(std::size_t recorder, int times) {
    const OpDesc op = {.name = "op", .type = "Add", .task_id = 1, .stream_id = 2};
    const float value = 5;
    const Dim dims[] = {1};
    const TensorView output = {
        .address = address_of(&value), .bytes = sizeof value, .dtype = DType::float32, .shape = dims};
    for (int i = 0; i < times; ++i) {
      REQUIRE(recorders_[recorder]->capture_single_op(op, {}, {&output, 1}) == Status::ok);
      while (session_.drain_some(1024) != 0) continue;
    }
  }

  DumpCounts end() {
    static_cast<void>(session_.finalize());
    return session_.counts();
  }

 private:
  HostMemory memory_;
  FakeClock clock_;
  std::byte scratch_[2048];
  alignas(8) std::byte rings_[2][4096];
  BasicSession<HostMemory> session_;
  BasicRecorder<HostMemory>* const recorders_[2];
};

std::size_t times_in(const std::string& text, const std::string& part) {
  std::size_t times = 0;
  for (std::size_t at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++times;
  return times;
}

}  // namespace

TEST_CASE(
    "one tick: a tree has a thousand later names for a record, and the next one is lost with its cause") {
  if (OPDUMP_MAX_RECORDERS < 2) return;
  TemporaryDirectory directory;
  const std::string root = directory.text();
  posix::TreeSink tree;
  OneTick bench(tree, root);
  bench.capture(0, 1000);
  bench.capture(1, 1);  // finds all of them taken
  bench.capture(1, 1);  // and comes to a later one
  const DumpCounts counts = bench.end();
  CHECK(counts.captured == 1002);
  CHECK(counts.written == 1001);
  CHECK(counts.sink_failed == 1);
  CHECK(counts.lost() == 1);
  std::set<std::string> files;
  std::string journal;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(directory.path())) {
    if (!entry.is_regular_file()) continue;
    if (entry.path().extension() == ".journal") {
      journal += read_file(entry.path());
    } else {
      files.insert(entry.path().filename().string());
    }
  }
  CHECK(files.size() == 1001);
  CHECK(times_in(journal, "\nwritten,0,") == 1000);
  CHECK(times_in(journal, "\nwritten,1,1,") == 1);
  CHECK(times_in(journal, "\nlost,") == 1);
  CHECK(times_in(journal, "\nlost,1,0,sink_failed:already exists,") == 1);
}

TEST_CASE("one tick: a flash log keeps all of them, and none is lost") {
  if (OPDUMP_MAX_RECORDERS < 2) return;
  FlashEmulator flash({.block_bytes = 65536, .block_count = 32, .program_bytes = 4, .bits_only_clear = true},
                      256);
  flash.power_on();
  const flashlog::Device device = flash.device();
  std::byte page[flashlog::FlashLog::kPrefixBytes + 256];
  flashlog::FlashLog log(device, page, {});
  REQUIRE(log.mount() == Status::ok);
  OneTick bench(log, "/dump");
  bench.capture(0, 1000);
  bench.capture(1, 1001);
  const DumpCounts counts = bench.end();
  CHECK(counts.captured == 2001);
  CHECK(counts.written == 2001);
  CHECK(counts.lost() == 0);
  const FlashContents contents = read_flash(device);
  CHECK(contents.count(flashlog::ObjectState::committed) == 2001);
  std::set<std::string> paths;
  for (const FlashContents::Object& object : contents.objects) paths.insert(object.path);
  // The two recorders do not know each other's names.
  CHECK(paths.size() == 1001);
  REQUIRE(contents.journals.size() == 1);
  CHECK(times_in(contents.journals.begin()->second, "\nwritten,") == 2001);
  CHECK(times_in(contents.journals.begin()->second, "\nlost,") == 0);
}
