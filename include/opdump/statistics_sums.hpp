#pragma once
#include <cstdint>

#include "opdump/status.hpp"

namespace opdump {
inline namespace OPDUMP_NAMESPACE {

/// `value` squared and rounded, also where the compiler would let an addition take the exact product in, as
/// GCC does on machines with a fused multiply-add: sums have the same bits on every machine.
inline double rounded_square(double value) {
#if __has_builtin(__builtin_assoc_barrier)
  return __builtin_assoc_barrier(value * value);
#else
  const double square = value * value;
  return square;
#endif
}

/// A sum of doubles that keeps what each addition rounds off (Neumaier), so its error does not grow with the
/// number of terms. Not under -ffast-math, which takes the correction away.
class CompensatedSum {
 public:
  void add(double term) {
    const double sum = sum_ + term;
    const double of_sum = sum - term;
    lost_ += (sum_ - of_sum) + (term - (sum - of_sum));
    sum_ = sum;
  }

  double value() const { return sum_ + lost_; }

 private:
  double sum_ = 0;
  double lost_ = 0;
};

/// An exact sum of integers, up to 2^63 terms of 64 bits.
class IntegerSum {
 public:
  void add(std::int64_t term) { add(static_cast<std::uint64_t>(term), term < 0 ? -1 : 0); }
  void add(std::uint64_t term) { add(term, 0); }
  /// Adds `term` times 2^32.
  void add_shifted(std::int64_t term) { add(static_cast<std::uint64_t>(term) << 32, term >> 32); }

  double value() const {
    const bool negative = high_ < 0;
    const std::uint64_t low = negative ? ~low_ + 1 : low_;
    const std::uint64_t high =
        negative ? ~static_cast<std::uint64_t>(high_) + (low == 0) : static_cast<std::uint64_t>(high_);
    const double magnitude = static_cast<double>(high) * 0x1p64 + static_cast<double>(low);
    return negative ? -magnitude : magnitude;
  }

 private:
  void add(std::uint64_t low, std::int64_t high) {
    low_ += low;
    high_ += high + (low_ < low);
  }

  std::uint64_t low_ = 0;
  std::int64_t high_ = 0;
};

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump
