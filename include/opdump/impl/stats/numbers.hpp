#pragma once
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "opdump/base/bytes.hpp"
#include "opdump/base/status.hpp"

namespace opdump {
inline namespace OPDUMP_NAMESPACE {

/// `value` squared and rounded, even where the compiler would fuse the multiplication with an addition, as
/// GCC does on machines with a fused multiply-add. So sums have the same bits on every machine.
inline double rounded_square(double value) {
#if __has_builtin(__builtin_assoc_barrier)
  return __builtin_assoc_barrier(value * value);
#else
  const double square = value * value;
  return square;
#endif
}

/// A sum of doubles that keeps what each addition rounds off (Neumaier), so that its error does not grow with
/// the number of terms. Not under -ffast-math, which removes the correction.
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

/// An exact sum of up to 2^63 integers of 64 bits.
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

/// Floating elements of up to 64 bits, taken apart with integers, so that software floating point,
/// -ffast-math and a processor set to flush subnormals make no difference.

template <std::unsigned_integral T>
T load_element(const std::byte* from) {
  if constexpr (std::endian::native == std::endian::little) {
    T value;
    std::memcpy(&value, from, sizeof value);
    return value;
  } else {
    return load_little_endian<T>(from);
  }
}

/// A floating format of sign, exponent and fraction. `kInfinity` is the magnitude (bits without the sign) of
/// infinity, `kMaxNumber` the largest magnitude that is not a NaN.
template <class BitsType, int kExponentBits, bool kHasInfinity = true>
struct FloatFormat {
  using Bits = BitsType;
  static constexpr int kWidth = static_cast<int>(sizeof(Bits) * 8);
  static constexpr int kFractionBits = kWidth - 1 - kExponentBits;
  static constexpr int kBias = (1 << (kExponentBits - 1)) - 1;
  static constexpr Bits kMagnitude = static_cast<Bits>(~Bits{0}) >> 1;
  static constexpr Bits kAllExponent = static_cast<Bits>(kMagnitude >> kFractionBits << kFractionBits);
  static constexpr Bits kMaxNumber = kHasInfinity ? kAllExponent : static_cast<Bits>(kMagnitude - 1);
  static constexpr Bits kInfinity = kHasInfinity ? kAllExponent : kMagnitude;

  /// The number whose bits without the sign are `magnitude`; it may be infinity, but not NaN.
  static double decode(Bits magnitude) {
    if constexpr (kWidth == 64) {
      return std::bit_cast<double>(magnitude);
    } else {
      const std::uint64_t wide = magnitude;
      if (kHasInfinity && magnitude == kInfinity) return std::bit_cast<double>(std::uint64_t{0x7ff} << 52);
      if (wide >> kFractionBits == 0) {
        constexpr std::uint64_t kUnit = static_cast<std::uint64_t>(1024 - kBias - kFractionBits) << 52;
        return static_cast<double>(static_cast<std::int32_t>(magnitude)) * std::bit_cast<double>(kUnit);
      }
      constexpr std::uint64_t kRebias = static_cast<std::uint64_t>(1023 - kBias) << 52;
      return std::bit_cast<double>((wide << (52 - kFractionBits)) + kRebias);
    }
  }
};

using Float64Format = FloatFormat<std::uint64_t, 11>;
using Float32Format = FloatFormat<std::uint32_t, 8>;
using Float16Format = FloatFormat<std::uint16_t, 5>;
using Bfloat16Format = FloatFormat<std::uint16_t, 8>;
using Float8E5m2Format = FloatFormat<std::uint8_t, 5>;
using Float8E4m3fnFormat = FloatFormat<std::uint8_t, 4, false>;

/// The number that the element `bits` encodes, with its sign; infinities and NaNs too.
template <class Format>
double float_value(typename Format::Bits bits) {
  using Bits = typename Format::Bits;
  const Bits magnitude = static_cast<Bits>(bits & Format::kMagnitude);
  constexpr std::uint64_t kNan = std::uint64_t{0x7ff8} << 48;
  const double size =
      magnitude > Format::kMaxNumber ? std::bit_cast<double>(kNan) : Format::decode(magnitude);
  return magnitude != bits ? -size : size;
}

/// An integer that orders doubles as their values do: 0 for both zeros, negative for negative numbers.
inline std::int64_t order_of(double value) {
  const std::uint64_t bits = std::bit_cast<std::uint64_t>(value);
  const std::int64_t magnitude = static_cast<std::int64_t>(bits & Float64Format::kMagnitude);
  return bits >> 63 != 0 ? -magnitude : magnitude;
}

inline double from_order(std::int64_t order) {
  const std::uint64_t magnitude = static_cast<std::uint64_t>(order < 0 ? -order : order);
  return std::bit_cast<double>(magnitude | std::uint64_t{order < 0} << 63);
}

/// How float16 and bfloat16 are added up, a group of 64 at a time, from the tensor's beginning.
///
/// In bfloat16 each 16 elements are reordered first: those at even places come before those at odd places.
/// NaNs, infinities and the elements that the last group lacks count as 0. For each j from 0 to 7, the
/// elements at the places j + 8 k, k = 0 to 7, are added up in pairs, ((0+1)+(2+3))+((4+5)+(6+7)); then the
/// sums for j and j + 4 are added to a column. The squares, which are exact, are added up in the same way.
/// All this is done in float32, where each of an element's four additions rounds by at most 2^-24. If an
/// element is too large (4096 or more) or too small (not zero, but below 2^-62), the group is added up in
/// float64 instead: large elements that cancel out do not take the small ones with them, and no square
/// overflows, vanishes or is subnormal. The columns go to four sums in float64.

inline constexpr std::size_t kHalfGroup = 64;
inline constexpr std::size_t kHalfColumns = 4;

struct HalfLanes {
  double sums[kHalfColumns] = {};
  double squares[kHalfColumns] = {};
};

/// The bounds for elements of a group, as magnitudes of `Format`.
template <class Format>
inline constexpr std::uint16_t kLargeHalf = (Format::kBias + 12) << Format::kFractionBits;
template <class Format>
inline constexpr std::uint16_t kSmallHalf = Format::kBias > 62 ? (Format::kBias - 62) << Format::kFractionBits
                                                               : 1;

/// Whether a group that is added up in float32 may hold elements of this magnitude.
template <class Format>
constexpr bool is_moderate_half(std::uint32_t magnitude) {
  return magnitude < kLargeHalf<Format> && (magnitude >= kSmallHalf<Format> || magnitude == 0);
}

/// Converts to float32 and back, for numbers that are neither subnormal nor too large for float32. Two such
/// numbers, added in float64 and then rounded in this way, give the sum that float32 gives.
[[gnu::always_inline]] inline double round_to_float(double value) {
  return static_cast<double>(static_cast<float>(value));
}

/// Adds up the numbers of one column, into x[0].
[[gnu::always_inline]] inline void add_half_column(double (&x)[kHalfGroup / kHalfColumns], bool in_float) {
  const auto add = [&x, in_float](std::size_t i, std::size_t apart) {
    const double sum = x[i] + x[i + apart];
    x[i] = in_float ? round_to_float(sum) : sum;
  };
  for (std::size_t apart = 2; apart != 16; apart *= 2) {
    for (std::size_t i = 0; i != 16; i += 2 * apart) {
      add(i, apart);
      add(i + 1, apart);
    }
  }
  add(0, 1);
}

/// Adds a group to `lanes`; `at(place)` is an element. Inlined into every caller: kernels are compiled for
/// processors that other code cannot assume.
[[gnu::always_inline]] inline void add_half_group(HalfLanes& lanes, bool in_float, const auto& at) {
  for (std::size_t column = 0; column < kHalfColumns; ++column) {
    for (const bool squared : {false, true}) {
      double x[kHalfGroup / kHalfColumns];
      for (std::size_t i = 0; i < kHalfGroup / kHalfColumns; ++i) {
        const double value = at(column + kHalfColumns * i);
        x[i] = squared ? value * value : value;
      }
      add_half_column(x, in_float);
      (squared ? lanes.squares : lanes.sums)[column] += x[0];
    }
  }
}

/// The place within a group of the element that comes to `place` when it is added up.
template <class Format>
constexpr std::size_t half_at(std::size_t place) {
  if constexpr (Format::kFractionBits == Bfloat16Format::kFractionBits) {
    return (place & ~std::size_t{15}) | (place & 7) << 1 | (place >> 3 & 1);
  } else {
    return place;
  }
}

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump
