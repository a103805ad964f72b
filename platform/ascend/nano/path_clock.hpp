#pragma once
#include <cstdint>

#include "opdump/port/clock.hpp"

namespace opdump::nano {
inline namespace OPDUMP_NAMESPACE {

/// Seconds since 1970-01-01 of the time YYYYMMDDHHMMSS, which `local_time_number` turns into `number` again.
/// 0 for a number that is no time since 1970.
constexpr std::uint64_t unix_seconds_of(std::uint64_t number) {
  const auto take = [&number](std::uint64_t base) {
    const std::uint64_t digits = number % base;
    number /= base;
    return static_cast<std::int64_t>(digits);
  };
  const std::int64_t second = take(100);
  const std::int64_t minute = take(100);
  const std::int64_t hour = take(100);
  const std::int64_t day = take(100);
  std::int64_t month = take(100);
  std::int64_t year = take(10000);
  if (number != 0 || year < 1970 || month < 1 || month > 12 || day < 1 || day > 31 || hour > 23 ||
      minute > 59 || second > 59)
    return 0;
  // The year begins in March, so that the leap day is its last.
  if (month <= 2) {
    month += 12;
    --year;
  }
  const std::int64_t days =
      365 * year + year / 4 - year / 100 + year / 400 + (153 * (month - 3) + 2) / 5 + day - 1 - 719468;
  return static_cast<std::uint64_t>(((days * 24 + hour) * 60 + minute) * 60 + second);
}

/// A clock that can be held at a time for a moment, so that a session names a directory after it. From one
/// thread, but for `monotonic_ms` and `pause`.
class PathClock final : public Clock {
 public:
  explicit PathClock(Clock& clock) : clock_(clock) {}

  /// From now on it is the local time `number`, YYYYMMDDHHMMSS, as if of UTC; 0: the clock's own time.
  void hold(std::uint64_t number) { held_us_ = number == 0 ? 0 : unix_seconds_of(number) * 1'000'000; }

  std::uint64_t unix_us() override { return held_us_ != 0 ? held_us_ : clock_.unix_us(); }
  std::int32_t utc_offset_seconds() override { return held_us_ != 0 ? 0 : clock_.utc_offset_seconds(); }
  std::uint32_t monotonic_ms() override { return clock_.monotonic_ms(); }
  void pause() override { clock_.pause(); }

 private:
  Clock& clock_;
  std::uint64_t held_us_ = 0;
};

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::nano
