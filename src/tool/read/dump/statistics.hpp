#pragma once
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

namespace opdump::tool {

/// Minimum, maximum and mean of numbers that come in pieces, and counts of those that are not finite.
class Statistics {
 public:
  void add(std::span<const double> numbers) {
    for (const double number : numbers) {
      if (std::isfinite(number)) {
        min_ = number < min_ ? number : min_;
        max_ = number > max_ ? number : max_;
        sum_ += number;
        squares_ += number * number;
        scaled_sum_ += number * kScale;
        ++finite_;
      } else if (std::isnan(number)) {
        ++nan_;
      } else {
        ++infinite_;
      }
    }
  }

  std::uint64_t finite() const { return finite_; }
  std::uint64_t nan() const { return nan_; }
  std::uint64_t infinite() const { return infinite_; }

  // Of the finite numbers; there must be at least one.
  double min() const { return min_; }
  double max() const { return max_; }
  double mean() const {
    const double count = static_cast<double>(finite_);
    return std::isfinite(sum_) ? sum_ / count : scaled_sum_ / count / kScale;
  }
  double l2() const { return std::sqrt(squares_); }

 private:
  /// Keeps a second sum finite where numbers near the end of the range make the first one overflow.
  static constexpr double kScale = 0x1p-64;

  double min_ = std::numeric_limits<double>::infinity();
  double max_ = -std::numeric_limits<double>::infinity();
  double sum_ = 0;
  double squares_ = 0;
  double scaled_sum_ = 0;
  std::uint64_t finite_ = 0;
  std::uint64_t nan_ = 0;
  std::uint64_t infinite_ = 0;
};

}  // namespace opdump::tool
