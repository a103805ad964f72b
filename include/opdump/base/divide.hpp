#pragma once
#include <cstddef>
#include <cstdint>

#include "opdump/knobs.hpp"

namespace opdump {
inline namespace OPDUMP_NAMESPACE {

/// Divides `value` by `by`, 1 to 65535, and returns the remainder. Uses 32-bit divisions: the library's
/// 64-bit division takes 700 bytes of code on a Cortex-M.
constexpr std::uint32_t divide_by_digits(std::uint64_t& value, std::uint32_t by) {
  std::uint32_t rest = 0;
  // Digits of 16 bits: as one leaves `value` at the top, a digit of the quotient enters at the bottom.
  for (int digit = 0; digit < 4; ++digit) {
    const std::uint32_t part = rest << 16 | static_cast<std::uint32_t>(value >> 48);
    value = value << 16 | part / by;
    rest = part % by;
  }
  return rest;
}

/// The same, with a 64-bit division on machines that have one.
constexpr std::uint32_t divide(std::uint64_t& value, std::uint32_t by) {
  if constexpr (sizeof(std::size_t) < sizeof value) return divide_by_digits(value, by);
  const std::uint64_t number = value;
  value = number / by;
  return static_cast<std::uint32_t>(number % by);
}

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump
