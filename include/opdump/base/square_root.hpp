#pragma once
#include <bit>
#include <cstdint>

#include "opdump/base/build.hpp"

namespace opdump {
inline namespace OPDUMP_NAMESPACE {

/// The square root of `value`, correctly rounded, as std::sqrt gives it. `value` is 0, or positive, finite
/// and not subnormal. Uses integers only: std::sqrt adds 1 KiB of code on a Cortex-M without doubles.
OPDUMP_APART_IF_LEAN inline double square_root(double value) {
#if defined(__ARM_FP) && (__ARM_FP & 8) != 0
  return __builtin_sqrt(value);
#endif
  constexpr std::uint64_t kOne = std::uint64_t{1} << 52;
  const std::uint64_t bits = std::bit_cast<std::uint64_t>(value);
  if (bits == 0) return value;
  const std::uint32_t biased = static_cast<std::uint32_t>(bits >> 52);
  // The value as an integer of 54 bits with an even exponent, its first bit at the top.
  std::uint64_t left = ((bits & (kOne - 1)) | kOne) << (biased % 2 != 0 ? 10 : 11);
  // Two bits give one bit of the root. The last of its 54 rounds: no root lies half way between two numbers.
  std::uint64_t root = 0;
  std::uint64_t rest = 0;
  for (int i = 0; i < 54; ++i) {
    rest = rest << 2 | left >> 62;
    left <<= 2;
    const std::uint64_t next = root << 2 | 1;
    root <<= 1;
    if (rest >= next) {
      rest -= next;
      root |= 1;
    }
  }
  root = (root + 1) >> 1;
  // Half the exponent; the bias is odd, and the root's first bit is counted by its exponent.
  return std::bit_cast<double>((std::uint64_t{(biased + 1) / 2 + 510} << 52) + root);
}

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump
