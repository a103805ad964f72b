#pragma once
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "opdump/bytes.hpp"

/// Floating elements of up to 64 bits, taken apart with integers, so that neither a soft floating unit nor
/// -ffast-math nor a processor set to flush subnormals gets in the way.

namespace opdump {
inline namespace OPDUMP_NAMESPACE {

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
/// infinity, `kMaxNumber` the largest that is no NaN.
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

  /// The number whose bits without the sign are `magnitude`; infinity too, NaN not.
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

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump
