#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "opdump/types/dtype.hpp"

/// How the bytes of a tensor are searched for infinities and NaNs. Both have all bits of the exponent set (or, in
/// formats of 8 bits, one known pattern). Adding the exponent's lowest bit to the number without its sign therefore
/// carries into the sign's place, and never beyond it, so that a word of several numbers is tested at once.

namespace opdump {
inline namespace OPDUMP_NAMESPACE {

/// The bits of a word to test, the word to add to them, and the bits that are then set by an infinity or a
/// NaN. All zero: the dtype has neither.
struct NonFiniteRule {
  std::uint64_t mask = 0;
  std::uint64_t add = 0;
  std::uint64_t shows = 0;
};

namespace non_finite {

constexpr NonFiniteRule rule_of(std::uint64_t lanes, std::uint64_t sign, std::uint64_t lowest) {
  return {lanes * (sign - 1), lanes * lowest, lanes * sign};
}

constexpr std::uint64_t kBytes = 0x0101010101010101;
constexpr std::uint64_t kHalves = 0x0001000100010001;
constexpr std::uint64_t kFloats = 0x0000000100000001;

}  // namespace non_finite

/// The rule for dtypes of floating numbers packed in whole bytes; a complex number is two of them.
constexpr NonFiniteRule non_finite_rule(DType dtype) {
  using namespace non_finite;
  switch (dtype) {
    case DType::float16:
    case DType::complex32:
      return rule_of(kHalves, 0x8000, 0x0400);
    case DType::bfloat16:
      return rule_of(kHalves, 0x8000, 0x0080);
    case DType::float32:
    case DType::complex64:
      return rule_of(kFloats, 0x80000000, 0x00800000);
    case DType::float64:
    case DType::complex128:
      return rule_of(1, std::uint64_t{1} << 63, std::uint64_t{1} << 52);
    case DType::float8_e5m2:
      return rule_of(kBytes, 0x80, 0x04);
    case DType::float8_e4m3fn:
      return rule_of(kBytes, 0x80, 0x01);
    default:
      return {};
  }
}

/// Tests words by `rule`, from the front of `bytes` bytes at any address. Sets `found` if a word holds an infinity or
/// a NaN; else leaves it alone. Returns how many bytes it tested, a multiple of 8; the caller tests the rest.
using NonFiniteKernel = std::size_t (*)(const std::byte* data, std::size_t bytes, const NonFiniteRule& rule,
                                        bool& found);

/// The fastest kernel for the processor that this runs on; null: there is none. In the library, not in this header.
NonFiniteKernel non_finite_kernel();

namespace non_finite {

/// As a NonFiniteKernel, for numbers in this machine's byte order.
inline std::size_t scan_words(const std::byte* data, std::size_t bytes, const NonFiniteRule& rule,
                              bool& found) {
  std::uint64_t seen = 0;
  std::size_t at = 0;
  for (; bytes - at >= 8; at += 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, data + at, sizeof word);
    seen |= (word & rule.mask) + rule.add;
  }
  found = found || (seen & rule.shows) != 0;
  return at;
}

/// The format has 8 bits of exponent and nothing else; all ones is its only NaN.
inline bool is_nan_e8m0(std::byte code) {
  return code == std::byte{0xff};
}

/// Source of the codes: HiFloat8's paper; minus zero is the NaN.
inline bool is_non_finite_hifloat8(std::byte code) {
  return code == std::byte{0x80} || (code & std::byte{0x7f}) == std::byte{0x6f};
}

}  // namespace non_finite

/// Whether `bytes`, whole numbers of `dtype` in this machine's byte order, hold an infinity or a NaN; false
/// for dtypes that have neither. `kernel` may be null.
inline bool holds_non_finite(DType dtype, const std::byte* data, std::size_t bytes, NonFiniteKernel kernel) {
  if (dtype == DType::float8_e8m0 || dtype == DType::hifloat8) {
    bool found = false;
    for (std::size_t i = 0; i < bytes; ++i) {
      found |= dtype == DType::hifloat8 ? non_finite::is_non_finite_hifloat8(data[i])
                                        : non_finite::is_nan_e8m0(data[i]);
    }
    return found;
  }
  const NonFiniteRule rule = non_finite_rule(dtype);
  if (rule.shows == 0) return false;
  bool found = false;
  std::size_t done = kernel != nullptr ? kernel(data, bytes, rule, found) : 0;
  done += non_finite::scan_words(data + done, bytes - done, rule, found);
  std::uint64_t last = 0;
  // Zeros, which are finite, fill the rest of the word.
  if (done != bytes) std::memcpy(&last, data + done, bytes - done);
  return found || (((last & rule.mask) + rule.add) & rule.shows) != 0;
}

/// Whether numbers of `dtype` can be infinite or not a number.
constexpr bool can_be_non_finite(DType dtype) {
  return dtype == DType::float8_e8m0 || dtype == DType::hifloat8 || non_finite_rule(dtype).shows != 0;
}

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump
