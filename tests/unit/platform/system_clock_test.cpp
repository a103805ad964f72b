#include "platform/posix/system_clock.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <string>
#include <thread>

#include "platform/posix/counter_clock.hpp"
#include "tests/support/child_process.hpp"
#include "tests/support/waiting.hpp"

using namespace opdump;
using opdump::posix::CounterClock;
using opdump::posix::SystemClock;

TEST_CASE("system clock: calendar time in microseconds") {
  using namespace std::chrono;
  SystemClock clock;
  const auto before = duration_cast<microseconds>(system_clock::now().time_since_epoch()).count();
  const auto now = static_cast<long long>(clock.unix_us());
  const auto after = duration_cast<microseconds>(system_clock::now().time_since_epoch()).count();
  CHECK(before <= now);
  CHECK(now <= after);
}

TEST_CASE("system clock: calendar time counted on by the processor") {
  CounterClock counted;
  SystemClock clock;
  const auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(60);
  std::uint64_t wrong = 0;
  while (std::chrono::steady_clock::now() < until) {
    const std::uint64_t before = clock.unix_us();
    const std::uint64_t now = counted.unix_us();
    const std::uint64_t after = clock.unix_us();
    // 5 us, twice for what the calendar's rate changes.
    if (before > now + 10 || now > after + 10) ++wrong;
  }
  CHECK(wrong == 0);
}

#if defined(__x86_64__) || defined(__aarch64__)
TEST_CASE("system clock: the processor's counter is trusted where the kernel names it as its clock source") {
  std::ifstream file("/sys/devices/system/clocksource/clocksource0/current_clocksource");
  std::string source;
  std::getline(file, source);
  CAPTURE(source);
#if defined(__x86_64__)
  CHECK(opdump::posix::ProcessorCounter::is_trusted() == (source == "tsc"));
#else
  CHECK(opdump::posix::ProcessorCounter::is_trusted() == (source == "arch_sys_counter"));
#endif
}
#endif

TEST_CASE("system clock: monotonic milliseconds grow with time, also past 32 bits") {
  SystemClock clock;
  const auto start = std::chrono::steady_clock::now();
  const std::uint32_t before = clock.monotonic_ms();
  std::this_thread::sleep_for(std::chrono::milliseconds(30));
  const std::uint32_t passed = clock.monotonic_ms() - before;
  const auto most = std::chrono::steady_clock::now() - start;
  CHECK(passed >= 29);
  CHECK(passed <= most / std::chrono::milliseconds(1) + 1);
}

TEST_CASE("system clock: the zone in TZ") {
  struct Zone {
    const char* name;
    std::int32_t offset;
  };
  for (const Zone& zone : {Zone{"UTC0", 0}, Zone{"CST-8", 8 * 3600}, Zone{"NST3:30", -12'600}}) {
    CAPTURE(zone.name);
    const int result = tests::in_child([&] {
      SystemClock clock;
      OPDUMP_CHILD_CHECK(clock.utc_offset_seconds() > -86'400);
      setenv("TZ", zone.name, 1);
      OPDUMP_CHILD_CHECK(clock.utc_offset_seconds() == zone.offset);
      return 0;
    });
    CHECK(result == 0);
  }
}

TEST_CASE("system clock: a pause is short, but it is one") {
  SystemClock clock;
  const auto time_of_20 = [&clock] {
    const auto before = std::chrono::steady_clock::now();
    for (int i = 0; i < 20; ++i) clock.pause();
    return std::chrono::steady_clock::now() - before;
  };
  // Other load makes some pauses longer, but not all.
  tests::wait_until("20 short pauses", [&] {
    const auto passed = time_of_20();
    CHECK(passed >= std::chrono::microseconds(20 * 50));
    return passed < std::chrono::seconds(5);
  });
}
