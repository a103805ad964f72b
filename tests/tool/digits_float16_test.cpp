#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "examples/digits/float16.hpp"

using digits::Float16;
using digits::to_float16;
using digits::to_float32;

namespace {

constexpr std::uint32_t kCodes = 0x10000;
constexpr Float16 kInfiniteCode = 0x7c00;
constexpr Float16 kSignBit = 0x8000;

bool is_nan(std::uint32_t code) {
  return (code & 0x7fffu) > kInfiniteCode;
}

/// The value by the definition of binary16, for codes that are finite.
double defined_value(std::uint32_t code) {
  const int exponent = static_cast<int>((code >> 10) & 0x1f);
  const int fraction = static_cast<int>(code & 0x3ff);
  const double magnitude =
      exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(1024 + fraction, exponent - 25);
  return (code & kSignBit) != 0 ? -magnitude : magnitude;
}

float from_bits(std::uint32_t bits) {
  return std::bit_cast<float>(bits);
}

}  // namespace

TEST_CASE("every finite float16 has the value that binary16 defines") {
  for (std::uint32_t code = 0; code < kCodes; ++code) {
    if ((code & 0x7fff) >= kInfiniteCode) continue;
    const float value = to_float32(static_cast<Float16>(code));
    CAPTURE(code);
    REQUIRE(static_cast<double>(value) == defined_value(code));
    REQUIRE(std::signbit(value) == ((code & kSignBit) != 0));
  }
}

TEST_CASE("infinities and NaN widen to infinities and NaN") {
  CHECK(to_float32(0x7c00) == std::numeric_limits<float>::infinity());
  CHECK(to_float32(0xfc00) == -std::numeric_limits<float>::infinity());
  for (std::uint32_t code = 0; code < kCodes; ++code) {
    CAPTURE(code);
    REQUIRE(std::isnan(to_float32(static_cast<Float16>(code))) == is_nan(code));
  }
}

TEST_CASE("all 65536 codes survive the round trip, NaN payloads too") {
  for (std::uint32_t code = 0; code < kCodes; ++code)
    REQUIRE(to_float16(to_float32(static_cast<Float16>(code))) == code);
}

TEST_CASE("between two neighbours the nearer one wins, and the even one at a tie") {
  // The gap above 0x7bff, the largest finite code, leads to 65536, where infinity begins.
  for (std::uint32_t lower = 0; lower < kInfiniteCode; ++lower) {
    const std::uint32_t upper = lower + 1;
    const double above = upper == kInfiniteCode ? 65536.0 : defined_value(upper);
    const float middle = static_cast<float>((defined_value(lower) + above) / 2);
    const std::uint32_t even = lower % 2 == 0 ? lower : upper;
    CAPTURE(lower);
    REQUIRE(to_float16(middle) == even);
    REQUIRE(to_float16(std::nextafter(middle, 0.0f)) == lower);
    REQUIRE(to_float16(std::nextafter(middle, 1e9f)) == upper);
    REQUIRE(to_float16(-middle) == (even | kSignBit));
    REQUIRE(to_float16(-std::nextafter(middle, 0.0f)) == (lower | kSignBit));
    REQUIRE(to_float16(-std::nextafter(middle, 1e9f)) == (upper | kSignBit));
  }
}

TEST_CASE("subnormals and what is too small for them") {
  CHECK(to_float16(0x1p-24f) == 0x0001);
  CHECK(to_float16(0x1.ff8p-15f) == 0x03ff);
  CHECK(to_float16(0x1.ffcp-15f) == 0x0400);  // A tie that rounds up to the first normal.
  CHECK(to_float16(0x1p-25f) == 0x0000);
  CHECK(to_float16(0x1.000002p-25f) == 0x0001);
  CHECK(to_float16(std::numeric_limits<float>::denorm_min()) == 0x0000);
  CHECK(to_float16(-std::numeric_limits<float>::denorm_min()) == 0x8000);
  CHECK(to_float16(-0.0f) == 0x8000);
}

TEST_CASE("overflow gives infinity") {
  CHECK(to_float16(65504.0f) == 0x7bff);
  CHECK(to_float16(0x1.ffdffep15f) == 0x7bff);
  CHECK(to_float16(65520.0f) == kInfiniteCode);
  CHECK(to_float16(65536.0f) == kInfiniteCode);
  CHECK(to_float16(std::numeric_limits<float>::max()) == kInfiniteCode);
  CHECK(to_float16(std::numeric_limits<float>::lowest()) == 0xfc00);
  CHECK(to_float16(std::numeric_limits<float>::infinity()) == kInfiniteCode);
  CHECK(to_float16(-std::numeric_limits<float>::infinity()) == 0xfc00);
}

TEST_CASE("a NaN stays a NaN, with its sign and the upper bits of its payload") {
  CHECK(to_float16(from_bits(0x7fc00000)) == 0x7e00);
  CHECK(to_float16(from_bits(0xffc02000)) == 0xfe01);
  CHECK(to_float16(from_bits(0x7f800001)) ==
        0x7c01);  // Its payload has no upper bits; 0x7c00 would be infinity.
  CHECK(to_float16(from_bits(0xffffffff)) == 0xffff);
}
