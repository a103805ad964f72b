#include "src/tool/port/skeleton.hpp"

namespace opdump::tool {

const SkeletonFile c_clock = {"clock.c", R"(/* What time it is. */
#include <time.h>

#include "port.h"

static uint64_t unix_us(void* context) {
  (void)context;
  /* FILL IN 3: microseconds since 1970, or since boot where there is no calendar. They must never go back.
   * This counts the program's own processor time from the second in which it was first called. */
  static uint64_t start;
  if (start == 0) start = (uint64_t)time(NULL) * 1000000u;
  return start + (uint64_t)clock() * 1000000u / CLOCKS_PER_SEC;
  /* End of 3. */
}

static uint32_t monotonic_ms(void* context) {
  return (uint32_t)(unix_us(context) / 1000);
}

opdump_clock port_clock(void) {
  const opdump_clock clock = {.struct_bytes = sizeof clock, .unix_us = unix_us, .monotonic_ms = monotonic_ms};
  return clock;
}
)"};

}  // namespace opdump::tool
