#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <span>
#include <vector>

#include "opdump/base/square_root.hpp"
#include "opdump/impl/lean/statistics.hpp"
#include "opdump/impl/stats/statistics.hpp"
#include "tests/support/effort.hpp"

using namespace opdump;
using tests::rounds;

namespace {

/// A float16 as a double, by the definition of the format.
double half(std::uint16_t bits) {
  const int exponent = bits >> 10 & 31;
  const int fraction = bits & 1023;
  const double sign = bits >> 15 != 0 ? -1 : 1;
  if (exponent == 31)
    return fraction != 0 ? std::numeric_limits<double>::quiet_NaN()
                         : sign * std::numeric_limits<double>::infinity();
  return sign * (exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(1024 + fraction, exponent - 25));
}

/// What a tensor of `values` should give: plain sums.
struct Plain {
  explicit Plain(std::span<const double> values) {
    for (const double value : values) {
      if (std::isnan(value)) {
        ++nan;
      } else {
        min = std::fmin(min, value);
        max = std::fmax(max, value);
        negative_inf += value == -infinity;
        positive_inf += value == infinity;
        sum += static_cast<long double>(value);
        magnitudes += std::fabs(static_cast<long double>(value));
        squares += static_cast<long double>(value) * static_cast<long double>(value);
      }
    }
  }

  static constexpr double infinity = std::numeric_limits<double>::infinity();
  std::uint32_t nan = 0, negative_inf = 0, positive_inf = 0;
  double min = infinity, max = -infinity;
  long double sum = 0, magnitudes = 0, squares = 0;
};

template <class T>
std::vector<std::byte> little_endian(std::span<const T> elements) {
  std::vector<std::byte> bytes;
  for (const T element : elements) {
    for (std::size_t i = 0; i < sizeof(T); ++i) bytes.push_back(static_cast<std::byte>(element >> 8 * i));
  }
  return bytes;
}

/// Both NaN, or equal with zeros of one sign.
bool same(double a, double b) {
  return (std::isnan(a) && std::isnan(b)) || (a == b && std::signbit(a + 0.0) == std::signbit(b + 0.0));
}

/// Compares the statistics of `values`, which are `bytes`, taken in chunks of `chunk` elements.
void check(DType dtype, std::span<const double> values, std::span<const std::byte> bytes, std::size_t chunk) {
  SmallStatistics small(dtype);
  const std::size_t size = bytes.size() / values.size();
  for (std::size_t at = 0; at < bytes.size(); at += chunk * size)
    small.add(bytes.subspan(at, std::min(chunk * size, bytes.size() - at)));

  const Plain plain(values);
  CHECK(small.count(0) == values.size());
  CHECK(small.count(1) == plain.nan);
  CHECK(small.count(2) == plain.negative_inf);
  CHECK(small.count(3) == plain.positive_inf);

  // By CANN's rules, which `Statistics` has tests of.
  Statistics full(dtype);
  full.add(bytes);
  const StatisticsSummary summary = full.summary(StatisticsDialect::cann);
  CHECK(same(small.max(), summary.max.as_double()));
  CHECK(same(small.min(), summary.min.as_double()));
  CHECK(std::isfinite(small.average()) == std::isfinite(summary.average));
  CHECK(std::isfinite(small.l2norm()) == std::isfinite(summary.l2norm));
  if (!std::isfinite(small.average())) CHECK(same(small.average(), summary.average));
  if (!std::isfinite(small.l2norm())) CHECK(same(small.l2norm(), summary.l2norm));
  if (plain.nan + plain.negative_inf + plain.positive_inf != 0) return;

  CHECK(small.min() == plain.min);
  CHECK(small.max() == plain.max);
  const double count = static_cast<double>(values.size());
  const double rounding = dtype == DType::float16 || dtype == DType::float32 ? count * 1.2e-16 : 0;
  CHECK(std::fabs(small.average() - static_cast<double>(plain.sum / count)) <=
        static_cast<double>(plain.magnitudes) / count * rounding + std::fabs(small.average()) * 2.3e-16);
  const double norm = static_cast<double>(std::sqrt(plain.squares));
  CHECK(std::fabs(small.l2norm() - norm) <= norm * (rounding + 2.3e-16));
}

}  // namespace

TEST_CASE("small statistics: every int8, uint8 and float16") {
  std::vector<std::uint8_t> bytes(256);
  for (unsigned i = 0; i < 256; ++i) bytes[i] = static_cast<std::uint8_t>(i);
  std::vector<double> naturals(bytes.begin(), bytes.end()), integers;
  for (const std::uint8_t byte : bytes) integers.push_back(static_cast<std::int8_t>(byte));
  for (std::size_t i = 0; i < 256; ++i) {
    const std::span one(&bytes[i], 1);
    check(DType::uint8, {&naturals[i], 1}, std::as_bytes(one), 1);
    check(DType::int8, {&integers[i], 1}, std::as_bytes(one), 1);
  }
  check(DType::uint8, naturals, std::as_bytes(std::span(bytes)), 7);
  check(DType::int8, integers, std::as_bytes(std::span(bytes)), 256);
  std::size_t wrong = 0;
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    const std::uint16_t element = static_cast<std::uint16_t>(bits);
    SmallStatistics small(DType::float16);
    small.add(little_endian(std::span(&element, 1)));
    wrong += !same(small.max(), half(element)) || !same(small.average(), half(element)) ? 1 : 0;
  }
  CHECK(wrong == 0);
}

TEST_CASE("small statistics: floating numbers of all sizes") {
  std::mt19937 random(4);
  for (std::size_t round = 0; round < rounds(3000); ++round) {
    const std::size_t count = 1 + random() % 200;
    const bool special = round % 3 == 0;
    std::vector<std::uint16_t> halves(count);
    std::vector<std::uint32_t> floats(count);
    std::vector<double> half_values(count), float_values(count);
    for (std::size_t i = 0; i < count; ++i) {
      halves[i] = static_cast<std::uint16_t>(random());
      floats[i] = static_cast<std::uint32_t>(random());
      // Without exponents of infinities and NaNs, but for a few; some subnormal.
      if (!special || random() % 16 != 0) {
        halves[i] &= 0xbfff;
        floats[i] &= 0xbfffffff;
      }
      if (random() % 8 == 0) halves[i] &= 0x83ff;
      if (random() % 8 == 0) floats[i] &= 0x807fffff;
      if (special && random() % 16 == 0) floats[i] = (floats[i] & 0x80000000) | 0x7f800000;
      half_values[i] = half(halves[i]);
      float_values[i] = static_cast<double>(std::bit_cast<float>(floats[i]));
    }
    check(DType::float16, half_values, little_endian(std::span<const std::uint16_t>(halves)),
          1 + random() % count);
    check(DType::float32, float_values, little_endian(std::span<const std::uint32_t>(floats)),
          1 + random() % count);
  }
}

TEST_CASE("small statistics: sums of integers are exact") {
  std::mt19937 random(9);
  for (const DType dtype : {DType::int8, DType::uint8}) {
    std::vector<std::uint8_t> bytes(100000);
    std::vector<double> values(bytes.size());
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      bytes[i] = static_cast<std::uint8_t>(random() % 4 == 0 ? random() : 0x80);
      values[i] = dtype == DType::int8 ? static_cast<std::int8_t>(bytes[i]) : bytes[i];
    }
    check(dtype, values, std::as_bytes(std::span(bytes)), 64);
  }
}

TEST_CASE("small statistics: nothing of other dtypes") {
  const std::byte bytes[16] = {};
  for (int code = 0; code < kKnownDTypes; ++code) {
    const DType dtype = static_cast<DType>(code);
    CAPTURE(code);
    SmallStatistics small(dtype);
    small.add(bytes);
    CHECK((small.count(0) != 0) == SmallStatistics::supports(dtype));
  }
  SmallStatistics none(DType::float32);
  none.add({});
  CHECK(none.count(0) == 0);
}

TEST_CASE("small statistics: square roots have the bits of the library's") {
  const auto same = [](double value) {
    return std::bit_cast<std::uint64_t>(square_root(value)) == std::bit_cast<std::uint64_t>(std::sqrt(value));
  };
  CHECK(same(0));
  CHECK(same(std::numeric_limits<double>::min()));
  CHECK(same(std::numeric_limits<double>::max()));
  for (double root = 1; root < 20000; root += 7) {
    CHECK(square_root(root * root) == root);
    CHECK(same(std::nextafter(root * root, 0)));
    CHECK(same(std::nextafter(root * root, 1e300)));
  }
  std::mt19937_64 random(1);
  for (std::size_t i = 0; i < rounds(200000); ++i) {
    const double value = std::bit_cast<double>(random() >> 1);
    if (std::isnormal(value)) REQUIRE(same(value));
  }
}
