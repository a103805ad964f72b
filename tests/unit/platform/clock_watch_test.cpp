#include "platform/posix/time/clock_watch.hpp"

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <mutex>
#include <string>

#include "platform/posix/dump_kit.hpp"
#include "platform/posix/file_dump.hpp"
#include "tests/support/temporary_directory.hpp"
#include "tests/support/waiting.hpp"

using namespace opdump;
using namespace opdump::tests;
using opdump::posix::ClockWatch;

namespace {

constexpr std::int64_t kSecond = 1'000'000;
constexpr std::int64_t kNoon = 1'795'435'200 * kSecond;

}  // namespace

TEST_CASE("clock watch: a step forward is told once, with a time that no later stamp is below") {
  ClockWatch watch;
  static_cast<void>(watch.look(12 * kSecond, 12 * kSecond));
  CHECK_FALSE(watch.look(14 * kSecond, 14 * kSecond));
  // Set at 15 s since boot, and seen two seconds later.
  const std::optional<ClockStep> step = watch.look(kNoon + 2 * kSecond, 17 * kSecond);
  REQUIRE(step);
  CHECK(step->shown_us == 14 * kSecond);
  CHECK(step->unix_us == kNoon - kSecond);  // that of 14 s since boot
  CHECK_FALSE(watch.look(kNoon + 4 * kSecond, 19 * kSecond));
}

TEST_CASE("clock watch: what is corrected, set back, or cannot be told apart is not told") {
  ClockWatch watch;
  static_cast<void>(watch.look(kNoon, 100 * kSecond));
  std::int64_t boot = 100 * kSecond, ahead = kNoon - boot;
  // A clock that is corrected by 0.4 s at each look, for long.
  for (int i = 0; i < 20; ++i) {
    boot += 10 * kSecond;
    ahead += 400'000;
    CHECK_FALSE(watch.look(boot + ahead, boot));
  }
  CHECK_FALSE(watch.look(boot + ahead - 3600 * kSecond, boot + kSecond));
  static_cast<void>(watch.look(boot + ahead, boot + kSecond));
  // By five seconds, in ten.
  CHECK_FALSE(watch.look(boot + ahead + 15 * kSecond, boot + 11 * kSecond));
}

TEST_CASE("clock watch: this machine's clock is not being set") {
  ClockWatch watch;
  CHECK_FALSE(watch.look());
}

TEST_CASE("clock watch: a file dump tells its journal") {
  TemporaryDirectory directory;
  HostMemory memory;
  posix::FileDump dump(memory);
  const ClockStep step = {.shown_us = 5, .unix_us = 1'795'435'200'000'000};
  CHECK(dump.tell_clock(step) == Status::not_initialised);
  CHECK(!dump.error().empty());
  const std::string config = (directory.path() / "acl.json").string();
  std::ofstream(config) << R"({"dump": {"dump_path": ")" << directory.text()
                        << R"(", "dump_list": [{"model_name": "net"}]}})";
  REQUIRE(dump.start(config.c_str()) == Status::ok);
  CHECK(dump.tell_clock(step) == Status::ok);
  REQUIRE(dump.stop() == Status::ok);
  int journals = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(directory.path())) {
    if (entry.path().extension() != ".journal") continue;
    CHECK(read_file(entry.path()).find("\nclock,5,1795435200000000\n") != std::string::npos);
    ++journals;
  }
  CHECK(journals == 1);
}

namespace {

/// What a DumpKit takes for the system's clocks.
std::mutex g_times_lock;
ClockWatch::Times g_shown;

ClockWatch::Times shown_times() {
  const std::lock_guard<std::mutex> lock(g_times_lock);
  return g_shown;
}

/// Lets `seconds` pass, and sets the system's clock forward by `ahead_us` besides.
void let_pass(std::int64_t seconds, std::int64_t ahead_us = 0) {
  const std::lock_guard<std::mutex> lock(g_times_lock);
  g_shown.boot_us += seconds * kSecond;
  g_shown.unix_us += seconds * kSecond + ahead_us;
}

}  // namespace

TEST_CASE("clock watch: the drain thread of a dump notices a step, and its journal tells it once") {
  TemporaryDirectory directory;
  g_shown = {100 * kSecond, 100 * kSecond};
  HostMemory memory;
  std::byte scratch[4096];
  posix::DumpKit<HostMemory> kit(memory, {.scratch = scratch, .now = shown_times});
  DumpConfig config;
  config.active = true;
  const std::string root = directory.text();
  config.dump_path = root;
  static constexpr ModelRule kRules[] = {{.any_model = true}};
  config.models = kRules;
  REQUIRE(kit.apply(config) == Status::ok);
  kit.watch_clock();
  let_pass(5, kNoon - 105 * kSecond);
  wait_until("a step of the clock", [&kit] { return kit.clock_steps() == 1; });
  // What the program saw of it, a little later.
  CHECK(kit.tell_clock({.shown_us = 105 * kSecond + 300, .unix_us = kNoon + 700}) == Status::ok);
  // A correction is no step, and neither is a clock that is set back.
  let_pass(2, kSecond / 2);
  let_pass(10, -3600 * kSecond);
  let_pass(2);
  REQUIRE(kit.session().flush(kWaitLimitMs) == Status::ok);
  REQUIRE(kit.end() == Status::ok);
  CHECK(kit.clock_steps() == 1);
  std::string lines;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(directory.path())) {
    if (entry.path().extension() == ".journal") lines += read_file(entry.path());
  }
  const std::size_t first = lines.find("\nclock,");
  REQUIRE(first != std::string::npos);
  CHECK(lines.find("\nclock,", first + 1) == std::string::npos);
  const std::string shift = lines.substr(first + 7, lines.find('\n', first + 1) - first - 7);
  const std::size_t comma = shift.find(',');
  CHECK(std::stoll(shift.substr(comma + 1)) - std::stoll(shift.substr(0, comma)) == kNoon - 105 * kSecond);
}
