#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include "src/tool/judge/compare/comparison.hpp"
#include "tests/support/effort.hpp"
#include "tool/compare_arrays.hpp"

using namespace opdump;
using namespace opdump::compare;

namespace {

/// The detail by its definition, in float64.
struct DetailReference {
  PairDetail detail;
  std::vector<float> errors, shares;

  DetailReference(const std::vector<float>& x, const std::vector<float>& y) {
    std::uint64_t near = 0, less_near = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
      if (!std::isfinite(x[i]) || !std::isfinite(y[i])) {
        add_odd(x[i], y[i]);
        continue;
      }
      const double golden = std::fabs(double{y[i]}), distance = std::fabs(double{x[i]} - double{y[i]});
      near += distance * 1000 <= golden;
      less_near += distance * 200 <= golden;
      detail.not_close += distance > 1e-5 + 1e-5 * golden;
      detail.golden_peak = std::fmax(detail.golden_peak, golden);
      errors.push_back(static_cast<float>(distance));
      shares.push_back(distance == 0 ? 0 : static_cast<float>(distance / golden));
    }
    if (!errors.empty()) {
      detail.within_thousandth = static_cast<double>(near) / static_cast<double>(errors.size());
      detail.within_five_thousandths = static_cast<double>(less_near) / static_cast<double>(errors.size());
    }
    detail.absolute_quantile = quantile(errors);
    detail.relative_quantile = quantile(shares);
  }

  void add_odd(float x, float y) {
    detail.mine_nan += std::isnan(x);
    detail.mine_infinite += std::isinf(x);
    detail.golden_nan += std::isnan(y);
    detail.golden_infinite += std::isinf(y);
    const bool alike = (std::isnan(x) && std::isnan(y)) || x == y;
    detail.unlike += !alike;
    detail.alike += alike;
    detail.not_close += !alike;
  }

  /// Rounded up to 8 binary digits.
  static double quantile(std::vector<float>& values) {
    if (values.empty()) return 0;
    const auto rank = static_cast<std::ptrdiff_t>(std::ceil(0.99 * static_cast<double>(values.size())));
    std::nth_element(values.begin(), values.begin() + rank - 1, values.end());
    const std::uint32_t place =
        std::bit_cast<std::uint32_t>(values[static_cast<std::size_t>(rank - 1)]) >> 16;
    return place == 0 ? 0 : static_cast<double>(std::bit_cast<float>((place + 1) << 16));
  }
};

void check_detail(const std::vector<float>& x, const std::vector<float>& y) {
  const PairDetail expected = DetailReference(x, y).detail;
  const Memory a(x.data()), b(y.data());
  for (const StatisticsLevel level : kLevels) {
    const PairKernels* kernels = pair_kernels(level);
    if (kernels == nullptr) continue;
    CAPTURE(static_cast<int>(level));
    const std::optional<Comparison> result =
        compare::compare(floats(a), floats(b), x.size(), 2, Closer::always, *kernels);
    REQUIRE(result);
    if (result->equal == result->elements) continue;
    REQUIRE(result->detail);
    const PairDetail& got = *result->detail;
    CHECK(got.within_thousandth == expected.within_thousandth);
    CHECK(got.within_five_thousandths == expected.within_five_thousandths);
    CHECK(got.absolute_quantile == expected.absolute_quantile);
    // A quantile that is infinite has no end, and is told as NaN.
    CHECK((got.relative_quantile == expected.relative_quantile ||
           (std::isnan(got.relative_quantile) && std::isnan(expected.relative_quantile))));
    CHECK(got.golden_peak == expected.golden_peak);
    CHECK(got.not_close == expected.not_close);
    CHECK(got.unlike == expected.unlike);
    CHECK(got.alike == expected.alike);
    CHECK(got.mine_nan == expected.mine_nan);
    CHECK(got.mine_infinite == expected.mine_infinite);
    CHECK(got.golden_nan == expected.golden_nan);
    CHECK(got.golden_infinite == expected.golden_infinite);
  }
}

/// `mine(i, golden)` of `count` normal numbers times `scale`.
template <class Mine>
void check_detail_of(std::size_t count, float scale, Mine mine) {
  const std::vector<float> y = normal(count, static_cast<unsigned>(count), scale);
  std::vector<float> x(count);
  for (std::size_t i = 0; i < count; ++i) x[i] = mine(i, y[i]);
  check_detail(x, y);
}

}  // namespace

TEST_CASE("compare: a closer look tells what float64 tells, at every instruction set and length") {
  const std::vector<float> noise = normal(kThreadElements + 777, 5, 0.002F);
  const auto noisy = [&](std::size_t i, float golden) { return golden * (1 + noise[i]); };
  for (const std::size_t count : {1U, 2U, 63U, 64U, 65U, 1000U, 1025U, 20000U})
    check_detail_of(count, 1, noisy);
  check_detail_of(noise.size(), 3, noisy);
  for (const float scale : {1e-42F, 1e-38F, 1e-30F, 1e-5F, 1e5F, 1e30F, 1e37F}) {
    CAPTURE(scale);
    check_detail_of(3000, scale, noisy);
    // Quotients up to infinity, and differences that are rounded.
    check_detail_of(3000, scale, [&](std::size_t i, float) { return noise[i] * 1e3F; });
    check_detail_of(3000, scale, [](std::size_t, float golden) { return -golden; });
  }
}

TEST_CASE("compare: a closer look at errors that are all alike, at limits or where a sample misleads") {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const auto check = [](auto mine) { check_detail_of(5000, 1, mine); };
  check([](std::size_t, float) { return 0.0F; });
  check([](std::size_t, float golden) { return golden * (1 + 0x1p-8F); });
  check([](std::size_t, float golden) { return golden + 0x1p-9F; });
  check([](std::size_t i, float golden) { return i % 70 == 0 ? golden * 1.5F : golden; });
  check([&](std::size_t i, float golden) {
    return i % 7 == 0 ? nan : i % 9 == 0 ? kInfinity : golden * 1.01F;
  });
  std::vector<float> x(4096), y(4096);
  for (std::size_t i = 0; i < x.size(); ++i) {
    // Both zero; one zero; a thousandth and a two-hundredth apart, and nearly so; as far as close goes.
    const float steps[] = {0, 1000, 200, 1, 0x1p-120F};
    y[i] = steps[i % 5] * static_cast<float>(1 + i / 5 % 11);
    x[i] = y[i] + (i % 5 == 3    ? 2e-5F
                   : i % 5 == 4  ? 0x1p-140F
                   : i % 10 == 0 ? 0
                                 : static_cast<float>(1 + i / 5 % 11));
    if (i % 3 == 0) x[i] = std::nextafter(x[i], y[i]);
    if (i % 97 == 0) x[i] = std::copysign(kInfinity, i % 2 == 0 ? 1.0F : -1.0F);
    if (i % 194 == 0) y[i] = x[i];
    if (i % 101 == 0) y[i] = nan;
  }
  check_detail(x, y);
  // Few elements are far away, and the sample takes those, or none of them.
  for (const std::size_t first : {0U, 8U}) {
    check_detail_of(kThreadElements, 1, [&](std::size_t i, float golden) {
      const bool is_far = i % 1024 >= first && i % 1024 < first + 8 + 2 * first;
      return golden * (is_far ? 3 : 1.0001F);
    });
  }
}

TEST_CASE("compare: a closer look at shares and differences beside what float32 rounds them to") {
  // The second greatest of 100 decides; those behind it are far below.
  std::vector<float> x(100, 1.0001F), y(100, 1);
  x[1] = 9;
  const std::vector<float> golden = normal(tests::rounds(150), 15);
  for (const float share : {1.5F, 1.0F, 0.5F, 0.125F}) {
    for (const float one : golden) {
      y[0] = one;
      for (const float mine : {one - share * one, one + share * one}) {
        for (const float end : {-9.0F, 9.0F}) {
          x[0] = std::nextafter(mine, end);
          check_detail(x, y);
        }
      }
    }
  }
  std::vector<float> near_zero = normal(2000, 16, 1e-6F), further = near_zero;
  for (std::size_t i = 0; i < further.size(); ++i) {
    const float from = near_zero[i];
    const float apart = static_cast<float>(1e-5 + 1e-5 * std::fabs(double{from}));
    further[i] = i % 3 == 0 ? from + apart : from + std::nextafter(apart, i % 3 == 1 ? 0.0F : 1.0F);
  }
  check_detail(further, near_zero);
}
