#pragma once
#include <bit>
#include <cstdint>

#include "opdump/knobs.hpp"

namespace opdump {
inline namespace OPDUMP_NAMESPACE {

/// Whose rules hold where NaNs and infinities meet. Sources: the statistics of CANN's device CPU, and those
/// of MindSpore on the host.
///
///                   cann                                          mindspore
///     min, max      pass over NaNs, but NaN if element 0 is one   NaN if any element is
///     average       the infinity if all infinities have one       NaN if any element is, or if infinities
///                   sign, even beside NaNs; else NaN if any       of both signs are; else the infinity
///                   element is NaN or infinite
///     l2norm        NaN if any element is; else inf if any element is infinite
enum class StatisticsDialect : std::uint8_t { cann, mindspore };

/// A smallest or largest element, in the kind of number its dtype has.
class Extreme {
 public:
  enum class Kind : std::uint8_t { none, integer, natural, real };

  constexpr Extreme() = default;
  constexpr explicit Extreme(std::int64_t value)
      : kind_(Kind::integer), bits_(static_cast<std::uint64_t>(value)) {}
  constexpr explicit Extreme(std::uint64_t value) : kind_(Kind::natural), bits_(value) {}
  constexpr explicit Extreme(double value) : kind_(Kind::real), bits_(std::bit_cast<std::uint64_t>(value)) {}

  /// `none` where there were no elements; then no value may be read.
  constexpr Kind kind() const { return kind_; }
  constexpr std::int64_t integer() const { return static_cast<std::int64_t>(bits_); }
  constexpr std::uint64_t natural() const { return bits_; }
  constexpr double real() const { return std::bit_cast<double>(bits_); }

  /// The value whatever its kind; 64-bit integers are rounded to 53 bits.
  constexpr double as_double() const {
    if (kind_ == Kind::integer) return static_cast<double>(integer());
    return kind_ == Kind::natural ? static_cast<double>(natural()) : real();
  }

 private:
  Kind kind_ = Kind::none;
  std::uint64_t bits_ = 0;
};

struct StatisticsSummary {
  std::uint64_t count = 0;  ///< all elements: nan + negative + zero + positive
  std::uint64_t nan = 0;
  std::uint64_t negative_inf = 0;  ///< counted in `negative` too
  std::uint64_t positive_inf = 0;  ///< counted in `positive` too
  std::uint64_t negative = 0;      ///< below zero; what MindSpore calls "negative zero count"
  std::uint64_t zero = 0;          ///< of either sign
  std::uint64_t positive = 0;      ///< above zero; what MindSpore calls "positive zero count"
  Extreme max{};                   ///< a zero has no sign
  Extreme min{};
  double sum = 0;      ///< as `average`, times count; may be infinite where the average is not
  double average = 0;  ///< 0 of no elements
  double l2norm = 0;   ///< finite wherever a double can hold it
};

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump
