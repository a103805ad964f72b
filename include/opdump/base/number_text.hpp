#pragma once
#include <bit>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "opdump/base/status.hpp"
#include "opdump/base/text.hpp"

namespace opdump {
inline namespace OPDUMP_NAMESPACE {

/// Longest text of `add_number`: "-1.23457e-308".
inline constexpr std::size_t kMaxNumberText = 13;

namespace number_text {

/// The magnitude of a finite number: `mantissa` times 2^`exponent`.
struct Parts {
  std::uint64_t mantissa = 0;
  int exponent = 0;
};

/// An unsigned integer that can hold twice any number that is written here, times the power of ten that moves
/// the digits asked for before the point.
class Natural {
  using Limb = std::conditional_t<build::kLean, std::uint16_t, std::uint32_t>;
  using Wide = std::conditional_t<build::kLean, std::uint32_t, std::uint64_t>;
  static constexpr int kLimbBits = sizeof(Limb) * 8;

 public:
  explicit Natural(std::uint64_t value) {
    for (; value != 0; value >>= kLimbBits) limbs_[size_++] = static_cast<Limb>(value);
  }

  /// Multiplies by `factor` and adds `carry`.
  void multiply(Wide factor, Wide carry = 0) {
    for (std::size_t i = 0; i < size_; ++i) {
      carry += limbs_[i] * factor;
      limbs_[i] = static_cast<Limb>(carry);
      carry >>= kLimbBits;
    }
    if (carry != 0) limbs_[size_++] = static_cast<Limb>(carry);
  }

  /// Returns the remainder.
  Wide divide(Wide divisor) {
    Wide rest = 0;
    for (std::size_t i = size_; i-- != 0;) {
      rest = rest << kLimbBits | limbs_[i];
      limbs_[i] = static_cast<Limb>(rest / divisor);
      rest %= divisor;
    }
    while (size_ != 0 && limbs_[size_ - 1] == 0) --size_;
    return rest;
  }

  /// Multiplies by 2^`bits`.
  void shift_left(int bits) {
    for (; bits > 0; bits -= kShift) multiply(Wide{1} << (bits < kShift ? bits : kShift));
  }

  /// Divides by 2^`bits`, and returns whether any bit shifted out was set.
  bool shift_right(int bits) {
    bool lost = false;
    for (; bits > 0; bits -= kShift) lost |= divide(Wide{1} << (bits < kShift ? bits : kShift)) != 0;
    return lost;
  }

  bool is_zero() const { return size_ == 0; }
  bool is_odd() const { return limbs_[0] % 2 != 0; }

  /// Whether it has at most six digits.
  bool is_short() const {
    constexpr std::uint32_t kMillion = 1000000;
    if constexpr (kLimbBits == 32) return size_ == 0 || (size_ == 1 && limbs_[0] < kMillion);
    return size_ < 2 || (size_ == 2 && limbs_[0] + (std::uint32_t{limbs_[1]} << 16) < kMillion);
  }

 private:
  static constexpr int kShift = kLimbBits - 1;
  /// The largest for any double: 54 bits times 10^329 (1093 bits), near the least subnormal.
  static constexpr int kMostBits = OPDUMP_SMALL_CODE != 0 ? 320 : 1184;

  Limb limbs_[kMostBits / kLimbBits] = {};
  std::size_t size_ = 0;
};

/// Takes a finite `value` apart into `parts` and adds its sign; returns null. A NaN or an infinity leaves
/// `parts` alone: returns the 3 characters to add after the sign.
inline const char* take_apart(TextWriter& to, double value, Parts& parts) {
  const std::uint64_t bits = std::bit_cast<std::uint64_t>(value);
  const std::uint64_t fraction = bits & ((std::uint64_t{1} << 52) - 1);
  const int biased = static_cast<int>(bits >> 52 & 0x7ff);
  const bool nan = biased == 0x7ff && fraction != 0;
  if (!nan && bits >> 63 != 0) to.add('-');
  if (biased == 0x7ff) return nan ? "nan" : "inf";
  parts = {fraction | std::uint64_t{biased != 0} << 52, (biased == 0 ? 1 : biased) - 1075};
  return nullptr;
}

/// `parts` times 10^`tens`, rounded to an integer, ties to even.
inline Natural scaled(const Parts& parts, int tens) {
  [[maybe_unused]] constexpr std::uint32_t kBillion = 1000000000;
  Natural number(parts.mantissa * 2);
  number.shift_left(parts.exponent);
  for (; !build::kLean && tens >= 9; tens -= 9) number.multiply(kBillion);
  for (; tens > 0; --tens) number.multiply(10);
  bool rest = number.shift_right(-parts.exponent);
  for (; !build::kLean && tens <= -9; tens += 9) rest |= number.divide(kBillion) != 0;
  for (; tens < 0; ++tens) rest |= number.divide(10) != 0;
  const bool half = number.shift_right(1);
  if (half && (rest || number.is_odd())) number.multiply(1, 1);
  return number;
}

/// Adds `number`, with its last `decimals` digits behind a point. `strip` leaves out trailing zeros behind
/// the point, and the point when no digit is left behind it.
inline TextWriter& add_digits(TextWriter& to, Natural& number, int decimals, bool strip) {
  // From the last digit to the first, so that only the writer's memory is needed.
  const std::size_t first = to.text().size();
  bool begun = !strip;
  for (int digits = 0; digits <= decimals || !number.is_zero(); ++digits) {
    if (digits == decimals) {
      if (begun && digits != 0) to.add('.');
      begun = true;
    }
    const char digit = static_cast<char>('0' + number.divide(10));
    begun |= digit != '0';
    if (begun) to.add(digit);
  }
  return to.reverse(first);
}

}  // namespace number_text

/// Most digits behind the point that `add_fixed` takes.
inline constexpr int kMaxDecimals = 16;

/// Longest text of `add_fixed`: the largest double's.
inline constexpr std::size_t kMaxFixedText = 1 + 309 + 1 + kMaxDecimals;

/// Adds `value` with `decimals` digits behind the point as C's "%.*f" prints it: correctly rounded, ties to
/// even. NaNs, infinities and OPDUMP_SMALL_CODE as `add_number`. Uses integers only.
inline TextWriter& add_fixed(TextWriter& to, double value, int decimals) {
  number_text::Parts parts;
  if (const char* const text = number_text::take_apart(to, value, parts)) return to.add({text, 3});
  number_text::Natural number = number_text::scaled(parts, decimals);
  return number_text::add_digits(to, number, decimals, false);
}

/// Adds `value` as C's "%g" prints it: six significant digits, correctly rounded, without trailing zeros. A
/// NaN is "nan" whatever its sign, because processors disagree about the sign of the NaN that they make.
/// With OPDUMP_SMALL_CODE finite values must be 0 or between 2^-200 and 2^200 in magnitude, as float32 values
/// and all statistics of them are. Uses integers only.
inline TextWriter& add_number(TextWriter& to, double value) {
  number_text::Parts parts;
  if (const char* const text = number_text::take_apart(to, value, parts)) return to.add({text, 3});
  if (parts.mantissa == 0) return to.add('0');
  // floor(log10) of the power of two below the value: the value's own exponent, or one less.
  const int binary = 63 - std::countl_zero(parts.mantissa) + parts.exponent;
  int decimal = (binary * 78913) >> 18;
  for (;; ++decimal) {
    number_text::Natural number = number_text::scaled(parts, 5 - decimal);
    if (!number.is_short()) continue;
    if (decimal >= -4 && decimal <= 5) return number_text::add_digits(to, number, 5 - decimal, true);
    number_text::add_digits(to, number, 5, true);
    break;
  }
  to.add({decimal < 0 ? "e-" : "e+", 2});
  return to.add_short_decimal(static_cast<std::uint32_t>(decimal < 0 ? -decimal : decimal), 2);
}

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump
