#include "platform/baremetal/tick_clock.hpp"

#include <doctest/doctest.h>

using namespace opdump;

TEST_CASE("tick clock: counts microseconds and milliseconds from the ticks") {
  baremetal::TickClock clock(250, 1'700'000'000'000'000);
  CHECK(clock.unix_us() == 1'700'000'000'000'000);
  CHECK(clock.monotonic_ms() == 0);
  for (int i = 0; i < 10; ++i) clock.tick();
  CHECK(clock.unix_us() == 1'700'000'000'002'500);
  CHECK(clock.monotonic_ms() == 2);
  CHECK(clock.utc_offset_seconds() == 0);
}
