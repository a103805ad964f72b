#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <limits>
#include <random>
#include <span>
#include <string>

#include "opdump/base/number_text.hpp"
#include "tests/support/effort.hpp"

using namespace opdump;
using tests::rounds;

namespace {

std::string ours(double value) {
  char memory[kMaxNumberText];
  TextWriter text(memory);
  add_number(text, value);
  REQUIRE_FALSE(text.overflowed());
  return std::string(text.text());
}

std::string libc(double value) {
  char memory[64];
  std::snprintf(memory, sizeof memory, "%g", value);
  std::string text = memory;
#ifdef __NEWLIB__
  // Its %g keeps zeros that the C standard takes away.
  const std::size_t end = std::min(text.find('e'), text.size());
  std::size_t kept = end;
  if (text.find('.') != std::string::npos) {
    while (text[kept - 1] == '0') --kept;
    if (text[kept - 1] == '.') --kept;
  }
  text.erase(kept, end - kept);
#endif
  return text;
}

/// Of the checks only those that fail are told to doctest, which takes longer than both sides together.
bool agree(double value) {
  char memory[kMaxNumberText];
  TextWriter text(memory);
  add_number(text, value);
  if (!text.overflowed() && text.text() == libc(value)) return true;
  CHECK(ours(value) == libc(value));
  return false;
}

bool neighbours_agree(double value) {
  return agree(value) && agree(-value) && agree(std::nextafter(value, 0.0)) &&
         agree(std::nextafter(value, std::numeric_limits<double>::infinity()));
}

}  // namespace

TEST_CASE("number text: written out") {
  CHECK(ours(0.0) == "0");
  CHECK(ours(-0.0) == "-0");
  CHECK(ours(1) == "1");
  CHECK(ours(-1) == "-1");
  CHECK(ours(9.539392014169456) == "9.53939");
  CHECK(ours(65504) == "65504");
  CHECK(ours(1234567) == "1.23457e+06");
  CHECK(ours(100000) == "100000");
  CHECK(ours(999999.5) == "1e+06");
  CHECK(ours(1e-7) == "1e-07");
  CHECK(ours(0.0001) == "0.0001");
  CHECK(ours(0.00001) == "1e-05");
  CHECK(ours(0.00012345678) == "0.000123457");
  CHECK(ours(1.7976931348623157e308) == "1.79769e+308");
  CHECK(ours(5e-324) == "4.94066e-324");
  CHECK(ours(static_cast<double>(std::bit_cast<float>(100u))) == "1.4013e-43");
  CHECK(ours(std::numeric_limits<double>::infinity()) == "inf");
  CHECK(ours(-std::numeric_limits<double>::infinity()) == "-inf");
  CHECK(ours(std::bit_cast<double>(0x7ff8000000000000u)) == "nan");
  CHECK(ours(std::bit_cast<double>(0xfff0000000000001u)) == "nan");
}

TEST_CASE("number text: exact ties go to the even digit") {
  CHECK(ours(1000005) == "1e+06");
  CHECK(ours(1000015) == "1.00002e+06");
  CHECK(ours(100000.5) == "100000");
  CHECK(ours(100001.5) == "100002");
  CHECK(ours(0.5 + 0x1p-10) == "0.500977");
  for (std::uint32_t i = 0; i < rounds(900000); ++i) {
    if (!agree(100000.5 + i) || !agree((100000.5 + i) * 1024) || !agree((1000005.0 + 10 * i) * 1e9)) return;
  }
}

TEST_CASE("number text: a text that does not fit is refused") {
  char memory[5];
  TextWriter text(memory);
  add_number(text, -1.23457e-300);
  CHECK(text.overflowed());
}

TEST_CASE("number text: as libc around every power of two and of ten and every change of form") {
  for (int i = -1074; i < 1024; ++i) {
    if (!neighbours_agree(std::ldexp(1.0, i))) return;
  }
  for (int i = -323; i <= 308; ++i) {
    for (const char* digits : {"1", "9.999995", "9.999994999999999", "9.9999950000000001", "1.000005", "5",
                               "1.2345650", "9.99999", "9.9999949"}) {
      const double value = std::strtod((std::string(digits) + "e" + std::to_string(i)).c_str(), nullptr);
      if (std::isfinite(value) && value != 0 && !neighbours_agree(value)) return;
    }
  }
  for (std::uint64_t i = 1; i < rounds(100000); ++i) {
    if (!agree(std::bit_cast<double>(i)) || !agree(static_cast<double>(i)) ||
        !agree(std::bit_cast<double>(0x7ff0000000000000u - i)) ||
        !agree(std::bit_cast<float>(0x7f800000u - static_cast<std::uint32_t>(i))))
      return;
  }
}

TEST_CASE("number text: as libc for every float16") {
  for (std::uint32_t bits = 0; bits < 0x7c00; ++bits) {
    const int exponent = static_cast<int>(bits >> 10);
    const double mantissa = (bits & 0x3ff) + (exponent != 0 ? 1024.0 : 0.0);
    if (!agree(std::ldexp(mantissa, (exponent == 0 ? 1 : exponent) - 25))) return;
  }
}

TEST_CASE("number text: as libc for random bits, floats and short decimals") {
  std::mt19937_64 random(20240607);
  for (std::size_t i = 0; i < rounds(2500000); ++i) {
    const std::uint64_t bits = random();
    const double any = std::bit_cast<double>(bits);
    const float small = std::bit_cast<float>(static_cast<std::uint32_t>(bits));
    const double decimal = static_cast<double>(bits % 20000001) / 1e6;
    if (!std::isnan(any) && !agree(any)) return;
    if (!std::isnan(small) && !agree(small)) return;
    if (!agree(decimal) || !agree(static_cast<double>(bits >> (bits & 63)))) return;
  }
}

TEST_CASE("number text: of digits that do not fit none is left") {
  for (std::size_t room = 0; room < 7; ++room) {
    CAPTURE(room);
    char memory[16];
    TextWriter text(std::span(memory, 2 + room));
    add_fixed(text.add("a="), 12.5, 4).add("!");
    CHECK(text.overflowed());
    CHECK(text.text() == "a=");
  }
  char memory[16];
  TextWriter text(memory);
  CHECK(add_fixed(text.add("a="), -12.5, 4).add("!").text() == "a=-12.5000!");
}

TEST_CASE("number text: digits behind the point are those of C's %.*f") {
  const auto check = [](double value, unsigned decimals) {
    char memory[kMaxFixedText];
    TextWriter text(memory);
    add_fixed(text, value, decimals);
    char expected[kMaxFixedText + 1];
    std::snprintf(expected, sizeof expected, "%.*f", static_cast<int>(decimals), value);
    if (text.text() != expected) FAIL_CHECK(std::string(text.text()) << " is not " << expected);
  };
  for (const double value : {0.0,
                             -0.0,
                             1.0,
                             0.5,
                             1.5,
                             2.5,
                             0.05,
                             0.0005,
                             0.00049999999999999999,
                             999.9995,
                             9.9999999999999999,
                             1e22,
                             1.7976931348623157e308,
                             -1.7976931348623157e308,
                             5e-324,
                             2.2250738585072014e-308,
                             65504.0,
                             16777216.0,
                             0x1p-17,
                             0x1.8p-17,
                             3.0000000000000004}) {
    for (const unsigned decimals : {1u, 3u, 7u, 16u}) {
      check(value, decimals);
      check(-value, decimals);
    }
  }
  std::uint64_t state = 88172645463325252;
  for (int i = 0; i < 100'000; ++i) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    const double value = std::bit_cast<double>(state);
    if (value != value || value - value != 0) continue;
    check(value, i % 2 == 0 ? 7 : 16);
    // Near one, where the digits behind the point are many.
    check(std::bit_cast<double>((state >> 12) | (std::uint64_t{1023 - state % 60} << 52)), 3);
  }
  for (const auto& [value, expected] : {std::pair{std::numeric_limits<double>::infinity(), "inf"},
                                        std::pair{-std::numeric_limits<double>::infinity(), "-inf"},
                                        std::pair{-std::numeric_limits<double>::quiet_NaN(), "nan"}}) {
    char memory[16];
    TextWriter text(memory);
    CHECK(add_fixed(text, value, 7).text() == expected);
  }
}

TEST_CASE("eight digits at once are those that come one after the other") {
  const auto check = [](std::uint32_t value) {
    char at_once[8];
    char expected[9];
    put_eight_digits(at_once, value);
    std::snprintf(expected, sizeof expected, "%08u", static_cast<unsigned>(value % 100'000'000));
    CHECK(std::memcmp(at_once, expected, sizeof at_once) == 0);
  };
  for (std::uint32_t value = 0; value < 10'000; ++value) {
    check(value);
    check(value * 10'000);
    check(99'999'999 - value);
    check(value * 9'973 % 100'000'000);
  }
}
