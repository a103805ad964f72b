#pragma once
#include <zephyr/kernel.h>

#include "opdump/port/clock.hpp"

namespace opdump::zephyr {
inline namespace OPDUMP_NAMESPACE {

/// Zephyr's uptime as a clock. Any thread or interrupt may read it.
class UptimeClock final : public Clock {
 public:
  /// `start_us` is the time at boot in microseconds since 1970, 0 without a calendar clock.
  explicit UptimeClock(std::uint64_t start_us = 0) : start_us_(start_us) {}

  std::uint64_t unix_us() override {
    return start_us_ + k_ticks_to_us_floor64(static_cast<std::uint64_t>(k_uptime_ticks()));
  }
  std::int32_t utc_offset_seconds() override { return 0; }
  std::uint32_t monotonic_ms() override { return k_uptime_get_32(); }

  /// Sleeps for a tick, so that a drain thread of lower priority makes room.
  void pause() override { k_sleep(K_TICKS(1)); }

 private:
  const std::uint64_t start_us_;
};

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::zephyr
