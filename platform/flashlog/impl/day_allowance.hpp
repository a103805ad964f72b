#pragma once
#include <cstdint>

#include "opdump/base/build.hpp"

namespace opdump::flashlog {
inline namespace OPDUMP_NAMESPACE {

/// Bytes that may be taken in a day of the calendar; where no time is told, in all.
class DayAllowance {
 public:
  /// 0: any number.
  void limit(std::uint64_t bytes) { limit_ = bytes; }

  /// A day that has begun since has its bytes anew; one of before changes nothing.
  void at(std::uint64_t unix_us) {
    const std::uint64_t day = unix_us / kDayMicroseconds;
    if (day <= day_) return;
    day_ = day;
    taken_ = 0;
  }

  bool has(std::uint32_t bytes) const {
    return limit_ == 0 || bytes <= limit_ - (taken_ < limit_ ? taken_ : limit_);
  }
  void take(std::uint32_t bytes) { taken_ += bytes; }

 private:
  static constexpr std::uint64_t kDayMicroseconds = 86400000000;

  std::uint64_t limit_ = 0;
  std::uint64_t day_ = 0;
  std::uint64_t taken_ = 0;
};

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::flashlog
