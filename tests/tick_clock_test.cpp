#include "platform/baremetal/tick_clock.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <functional>

using namespace opdump;

namespace {

/// A word before each access of which an interrupt comes, if one is set. The first of a clock's starts one
/// tick before the carry.
struct InterruptedWord {
  InterruptedWord(std::uint32_t start) : value(made++ == 0 ? UINT32_MAX - 1 : start) {}
  std::uint32_t load(std::memory_order) const {
    interrupt();
    return value;
  }
  void store(std::uint32_t next, std::memory_order) {
    interrupt();
    value = next;
  }
  static void interrupt() {
    if (!handler || handling) return;
    handling = true;
    handler();
    handling = false;
  }

  std::uint32_t value;
  static inline int made = 0;
  static inline std::function<void()> handler;
  static inline bool handling = false;
};

}  // namespace

TEST_CASE("tick clock: counts microseconds and milliseconds from the ticks") {
  baremetal::TickClock clock(250, 1'700'000'000'000'000);
  CHECK(clock.unix_us() == 1'700'000'000'000'000);
  CHECK(clock.monotonic_ms() == 0);
  for (int i = 0; i < 10; ++i) clock.tick();
  CHECK(clock.unix_us() == 1'700'000'000'002'500);
  CHECK(clock.monotonic_ms() == 2);
  CHECK(clock.utc_offset_seconds() == 0);
}

TEST_CASE("tick clock: interrupts above the timer's see the time go on, by a tick at a time") {
  InterruptedWord::made = 0;
  baremetal::BasicTickClock<InterruptedWord> clock(1);
  const std::uint64_t start = clock.unix_us();
  std::uint64_t last = start;
  int looks = 0;
  InterruptedWord::handler = [&] {
    const std::uint64_t now = clock.unix_us();
    CHECK(now >= last);
    CHECK(now <= last + 1);
    last = now;
    ++looks;
  };
  for (int i = 0; i < 4; ++i) clock.tick();
  InterruptedWord::handler = nullptr;
  CHECK(looks > 8);
  CHECK(clock.unix_us() == start + 4);
}

TEST_CASE("tick clock: a tick may come at any point of a look, also the one that carries") {
  for (int ticks_before = 0; ticks_before < 3; ++ticks_before) {
    for (int at = 0; at < 4; ++at) {
      InterruptedWord::made = 0;
      baremetal::BasicTickClock<InterruptedWord> clock(1);
      for (int i = 0; i < ticks_before; ++i) clock.tick();
      const std::uint64_t before = clock.unix_us();
      int access = 0;
      InterruptedWord::handler = [&] {
        if (access++ == at) clock.tick();
      };
      const std::uint64_t now = clock.unix_us();
      InterruptedWord::handler = nullptr;
      CHECK(now >= before);
      CHECK(now <= clock.unix_us());
    }
  }
}
