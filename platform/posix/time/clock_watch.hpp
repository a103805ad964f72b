#pragma once
#include <time.h>

#include <cstdint>
#include <optional>

#include "opdump/types/clock_step.hpp"

namespace opdump::posix {
inline namespace OPDUMP_NAMESPACE {

/// Notices that the system's clock was set forward, as NTP does on a board without a calendar clock, for
/// `BasicSession::tell_clock`; a FileDump watches by itself. One thread.
class ClockWatch {
 public:
  /// Less is not told: the clock may only have been corrected.
  static constexpr std::int64_t kLeastUs = 1'000'000;

  struct Times {
    std::int64_t unix_us = 0;  ///< as the system has it
    std::int64_t boot_us = 0;  ///< since boot
  };

  ClockWatch() { static_cast<void>(look()); }

  /// What the system's clocks show.
  static Times now() { return {read_us(CLOCK_REALTIME), read_us(kSinceBoot)}; }

  /// The step since the last call of this; nothing where there was none, where the clock was set back, or
  /// where it was set by less than the time since that call, as stamps of before and after could then not be
  /// told apart. Call it every few seconds until the time is known.
  std::optional<ClockStep> look() {
    const Times times = now();
    return look(times.unix_us, times.boot_us);
  }

  /// The same of a reading: the system's time, and that since boot.
  std::optional<ClockStep> look(std::int64_t unix_us, std::int64_t boot_us) {
    const std::int64_t ahead = unix_us - boot_us, before = ahead_, since = boot_us - boot_us_;
    const ClockStep step = {static_cast<std::uint64_t>(boot_us_ + before),
                            static_cast<std::uint64_t>(boot_us_ + ahead)};
    const bool told =
        has_looked_ && boot_us_ + before >= 0 && ahead - before >= kLeastUs && ahead - before > since;
    ahead_ = ahead;
    boot_us_ = boot_us;
    has_looked_ = true;
    if (!told) return std::nullopt;
    return step;
  }

 private:
#ifdef CLOCK_BOOTTIME
  static constexpr clockid_t kSinceBoot = CLOCK_BOOTTIME;  // goes on while the machine sleeps
#else
  static constexpr clockid_t kSinceBoot = CLOCK_MONOTONIC;
#endif

  static std::int64_t read_us(clockid_t clock) {
    timespec now{};
    clock_gettime(clock, &now);
    return static_cast<std::int64_t>(now.tv_sec) * 1'000'000 + now.tv_nsec / 1000;
  }

  std::int64_t ahead_ = 0;    ///< how far the clock was ahead of the time since boot
  std::int64_t boot_us_ = 0;  ///< both at the last look
  bool has_looked_ = false;
};

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::posix
