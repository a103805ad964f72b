#pragma once

#include <bit>
#include <cstdint>

namespace digits {

/// The bit pattern of an IEEE 754 binary16 number: 1 sign bit, 5 exponent bits, 10 fraction bits.
using Float16 = std::uint16_t;

/// Exact. A NaN keeps its sign and its payload.
constexpr float to_float32(Float16 half) {
  const std::uint32_t sign = (half & 0x8000u) << 16;
  const std::uint32_t exponent = (half >> 10) & 0x1fu;
  const std::uint32_t fraction = half & 0x3ffu;
  if (exponent == 0) {
    const float magnitude = static_cast<float>(fraction) * 0x1p-24f;
    return std::bit_cast<float>(sign | std::bit_cast<std::uint32_t>(magnitude));
  }
  const std::uint32_t wide_exponent = exponent == 0x1f ? 0xffu : exponent + (127 - 15);
  return std::bit_cast<float>(sign | (wide_exponent << 23) | (fraction << 13));
}

/// The nearest float16, ties to even; infinity from 65520 up. A NaN stays one: it keeps its sign and the
/// upper bits of its payload.
constexpr Float16 to_float16(float value) {
  constexpr std::uint32_t kInfinity = 0x7f800000;
  constexpr std::uint32_t kFirstNormal = 0x38800000;  // 2^-14
  constexpr std::uint32_t kTooLarge = 0x47800000;     // 2^16
  constexpr std::uint32_t kTooSmall = 0x33000000;     // 2^-25: halfway to the smallest subnormal

  const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = (bits >> 16) & 0x8000u;
  const std::uint32_t magnitude = bits & 0x7fffffffu;
  if (magnitude > kInfinity) {
    const std::uint32_t payload = (magnitude >> 13) & 0x3ffu;
    return static_cast<Float16>(sign | 0x7c00u | (payload != 0 ? payload : 1));
  }
  if (magnitude >= kTooLarge) return static_cast<Float16>(sign | 0x7c00u);
  if (magnitude <= kTooSmall) return static_cast<Float16>(sign);

  // The result, as a fixed point number with `extra` bits too many. A carry out of the fraction raises the exponent.
  std::uint32_t extra = 13;
  std::uint32_t wide = magnitude - ((127 - 15) << 23);
  if (magnitude < kFirstNormal) {
    extra = 126 - (magnitude >> 23);
    wide = (magnitude & 0x7fffffu) | 0x800000u;
  }
  const std::uint32_t odd = (wide >> extra) & 1u;
  const std::uint32_t rounded = (wide + (1u << (extra - 1)) - 1 + odd) >> extra;
  return static_cast<Float16>(sign | rounded);
}

}  // namespace digits
