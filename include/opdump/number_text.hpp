#pragma once
#include <bit>
#include <cstddef>
#include <cstdint>

#include "opdump/status.hpp"
#include "opdump/text.hpp"

namespace opdump {
inline namespace OPDUMP_NAMESPACE {

/// Longest text of `add_number`: "-1.23457e-308".
inline constexpr std::size_t kMaxNumberText = 13;

namespace number_text {

/// An unsigned integer as large as it takes to hold any double times the power of ten that leaves seven
/// digits before the point.
class Natural {
 public:
  explicit Natural(std::uint64_t value) {
    for (; value != 0; value >>= 32) words_[size_++] = static_cast<std::uint32_t>(value);
  }

  /// Multiplies by `factor` and adds `carry`.
  void multiply(std::uint32_t factor, std::uint64_t carry = 0) {
    for (std::size_t i = 0; i < size_; ++i) {
      carry += std::uint64_t{words_[i]} * factor;
      words_[i] = static_cast<std::uint32_t>(carry);
      carry >>= 32;
    }
    if (carry != 0) words_[size_++] = static_cast<std::uint32_t>(carry);
  }

  /// Returns the remainder.
  std::uint32_t divide(std::uint32_t divisor) {
    std::uint64_t rest = 0;
    for (std::size_t i = size_; i-- != 0;) {
      rest = rest << 32 | words_[i];
      words_[i] = static_cast<std::uint32_t>(rest / divisor);
      rest %= divisor;
    }
    while (size_ != 0 && words_[size_ - 1] == 0) --size_;
    return static_cast<std::uint32_t>(rest);
  }

  /// Multiplies by 2^`bits`.
  void shift_left(int bits) {
    for (; bits > 0; bits -= kShift) multiply(std::uint32_t{1} << (bits < kShift ? bits : kShift));
  }

  /// Divides by 2^`bits`, and returns whether any bit shifted out was set.
  bool shift_right(int bits) {
    bool lost = false;
    for (; bits > 0; bits -= kShift) lost |= divide(std::uint32_t{1} << (bits < kShift ? bits : kShift)) != 0;
    return lost;
  }

  bool is_zero() const { return size_ == 0; }
  std::uint32_t low_word() const { return size_ == 0 ? 0 : words_[0]; }

 private:
  static constexpr int kShift = 31;

  /// The largest is the least subnormal's neighbourhood times 10^330: 53 + 1097 bits.
  std::uint32_t words_[38] = {};
  std::size_t size_ = 0;
};

/// 0.d1d2d3d4d5d6 times 10^(exponent + 1).
struct SixDigits {
  std::uint32_t digits;  ///< 100000 to 999999
  int exponent;          ///< of the first digit
};

/// A finite number without its sign: `mantissa` times 2^`exponent`.
struct Parts {
  std::uint64_t mantissa = 0;
  int exponent = 0;
};

/// Takes `value` apart, whose sign it adds; if it is a NaN or infinite, it adds all of it and returns false.
inline bool take_apart(TextWriter& to, double value, Parts& parts) {
  const std::uint64_t bits = std::bit_cast<std::uint64_t>(value);
  const std::uint64_t fraction = bits & ((std::uint64_t{1} << 52) - 1);
  const int biased = static_cast<int>(bits >> 52 & 0x7ff);
  const bool nan = biased == 0x7ff && fraction != 0;
  if (!nan && bits >> 63 != 0) to.add('-');
  if (biased == 0x7ff) {
    to.add(nan ? "nan" : "inf");
    return false;
  }
  parts = {fraction | std::uint64_t{biased != 0} << 52, (biased == 0 ? 1 : biased) - 1075};
  return true;
}

/// Rounds `mantissa` times 2^`exponent` to six digits, exactly, ties to even. The mantissa's top bit is
/// bit 52.
inline SixDigits six_digits(std::uint64_t mantissa, int exponent) {
  [[maybe_unused]] constexpr std::uint32_t kBillion = 1000000000;
  // floor(log10) of the power of two below the value: the value's own exponent, or one less.
  int decimal = ((exponent + 52) * 78913) >> 18;
  int tens = 6 - decimal;
  bool rest = false;
  Natural number(mantissa);
  number.shift_left(exponent);
#if OPDUMP_SMALL_CODE == 0
  for (; tens >= 9; tens -= 9) number.multiply(kBillion);
#endif
  for (; tens > 0; --tens) number.multiply(10);
  rest = number.shift_right(-exponent);
#if OPDUMP_SMALL_CODE == 0
  for (; tens <= -9; tens += 9) rest |= number.divide(kBillion) != 0;
#endif
  for (; tens < 0; ++tens) rest |= number.divide(10) != 0;

  std::uint32_t digits = number.low_word();
  if (digits >= 10000000) {
    rest |= digits % 10 != 0;
    digits /= 10;
    ++decimal;
  }
  const std::uint32_t last = digits % 10;
  digits /= 10;
  if (last > 5 || (last == 5 && (rest || digits % 2 != 0))) ++digits;
  if (digits == 1000000) return {100000, decimal + 1};
  return {digits, decimal};
}

}  // namespace number_text

/// Most digits behind the point that `add_fixed` takes.
inline constexpr unsigned kMaxDecimals = 16;

/// Longest text of `add_fixed`: the largest double's.
inline constexpr std::size_t kMaxFixedText = 1 + 309 + 1 + kMaxDecimals;

/// Adds `value` with `decimals` digits behind the point, at least one, as C's "%.*f" prints it: correctly
/// rounded, ties to even. NaNs and infinities as `add_number`. Uses integers only.
inline TextWriter& add_fixed(TextWriter& to, double value, unsigned decimals) {
  number_text::Parts parts;
  if (!number_text::take_apart(to, value, parts)) return to;
  number_text::Natural number(parts.mantissa);
  number.shift_left(parts.exponent);
  for (unsigned i = 0; i < decimals; ++i) number.multiply(10);
  if (parts.exponent < 0) {
    const bool rest = number.shift_right(-parts.exponent - 1);
    const bool half = number.low_word() % 2 != 0;
    number.shift_right(1);
    if (half && (rest || number.low_word() % 2 != 0)) number.multiply(1, 1);
  }

  // From the last digit to the first, so that no room is needed but the writer's.
  const std::size_t first = to.text().size();
  for (unsigned digits = 0; digits <= decimals || !number.is_zero(); ++digits) {
    if (digits == decimals) to.add('.');
    to.add(static_cast<char>('0' + number.divide(10)));
  }
  return to.reverse(first);
}

/// Adds `value` as C's "%g" prints it: six significant digits, correctly rounded, without trailing zeros. A
/// NaN is "nan" whatever its sign, because processors disagree about the sign of the NaN that they make.
/// Uses integers only.
inline TextWriter& add_number(TextWriter& to, double value) {
  number_text::Parts parts;
  if (!number_text::take_apart(to, value, parts)) return to;
  if (parts.mantissa == 0) return to.add('0');
  const int shift = std::countl_zero(parts.mantissa) - 11;
  const auto [digits, exponent] = number_text::six_digits(parts.mantissa << shift, parts.exponent - shift);

  char text[6];
  std::uint32_t rest = digits;
  for (int i = 5; i >= 0; --i, rest /= 10) text[i] = static_cast<char>('0' + rest % 10);
  std::size_t used = 6;
  while (text[used - 1] == '0') --used;

  if (exponent < -4 || exponent > 5) {
    to.add({text, 1});
    if (used > 1) to.add(".").add({text + 1, used - 1});
    to.add(exponent < 0 ? "e-" : "e+");
    return to.add_decimal(static_cast<std::uint64_t>(exponent < 0 ? -exponent : exponent), 2);
  }
  if (exponent < 0) {
    return to.add({"0.000", static_cast<std::size_t>(1 - exponent)}).add({text, used});
  }
  const std::size_t whole = static_cast<std::size_t>(exponent) + 1;
  if (used <= whole) return to.add({text, whole});
  return to.add({text, whole}).add(".").add({text + whole, used - whole});
}

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump
