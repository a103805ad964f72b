#pragma once
#include <sched.h>
#include <time.h>

#include <cstdint>

#include "opdump/port/clock.hpp"

namespace opdump::posix {
inline namespace OPDUMP_NAMESPACE {

/// The system's clocks. No state: any number of threads may share one.
class SystemClock final : public Clock {
 public:
  /// CLOCK_REALTIME, so it jumps when the system's time is set; 0 for a time before 1970.
  std::uint64_t unix_us() override {
    const timespec now = read(CLOCK_REALTIME);
    if (now.tv_sec < 0) return 0;
    return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000 +
           static_cast<std::uint64_t>(now.tv_nsec) / 1000;
  }

  /// The offset by `TZ` or the system's zone, as it is now. May read the zone's file and allocate: call it at boot.
  std::int32_t utc_offset_seconds() override {
    const time_t now = read(CLOCK_REALTIME).tv_sec;
    tm local{};
    tzset();  // localtime_r need not read TZ
    return localtime_r(&now, &local) == nullptr ? 0 : static_cast<std::int32_t>(local.tm_gmtoff);
  }

  std::uint32_t monotonic_ms() override {
    const timespec now = read(CLOCK_MONOTONIC);
    return static_cast<std::uint32_t>(static_cast<std::uint64_t>(now.tv_sec) * 1000 +
                                      static_cast<std::uint64_t>(now.tv_nsec) / 1'000'000);
  }

  /// Lets other threads run a few times, then sleeps 50 us (plus the system's timer slack).
  void pause() override {
    for (int i = 0; i < kYields; ++i) sched_yield();
    const timespec nap{.tv_sec = 0, .tv_nsec = 50'000};
    nanosleep(&nap, nullptr);
  }

 private:
  static constexpr int kYields = 4;

  static timespec read(clockid_t clock) {
    timespec now{};
    clock_gettime(clock, &now);
    return now;
  }
};

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::posix
