#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "src/tool/judge/compare/comparison.hpp"
#include "tool/compare_arrays.hpp"

using namespace opdump;
using namespace opdump::compare;

namespace {

/// Fails from `good` bytes on.
struct ShortMemory final : ElementSource {
  ShortMemory(const void* from, std::uint64_t bytes)
      : data(static_cast<const std::byte*>(from)), good(bytes) {}
  const std::byte* read(std::uint64_t offset, std::size_t count, std::byte*) const override {
    return offset + count <= good ? data + offset : nullptr;
  }
  const std::byte* data;
  std::uint64_t good;
};

Comparison of(const std::vector<float>& x, const std::vector<float>& y, unsigned threads = 1,
              const PairKernels& kernels = pair_kernels()) {
  const Memory a(x.data()), b(y.data());
  const std::optional<Comparison> result =
      compare::compare(floats(a), floats(b), x.size(), threads, Closer::never, kernels);
  REQUIRE(result);
  return *result;
}

/// The ten measures by their formulas, in float64 throughout.
struct Reference {
  double cosine, divergence, relative_sum, relative_max, distance, mean_absolute, root_mean_square;

  Reference(const std::vector<float>& x, const std::vector<float>& y) {
    double xx = 0, yy = 0, xy = 0, dd = 0, absolute = 0;
    relative_sum = relative_max = 0;
    double x_min = 1e300, x_max = -1e300, y_min = 1e300, y_max = -1e300;
    for (std::size_t i = 0; i < x.size(); ++i) {
      const double a = x[i], b = y[i];
      xx += a * a;
      yy += b * b;
      xy += a * b;
      dd += (a - b) * (a - b);
      absolute += std::fabs(a - b);
      const double relative = std::fabs(b) > 2.220446049250313e-16 ? std::fabs(a / b - 1) : 0;
      relative_sum += relative;
      relative_max = std::fmax(relative_max, relative);
      x_min = std::fmin(x_min, a);
      x_max = std::fmax(x_max, a);
      y_min = std::fmin(y_min, b);
      y_max = std::fmax(y_max, b);
    }
    const double count = static_cast<double>(x.size());
    cosine = xy / std::sqrt(xx) / std::sqrt(yy);
    distance = std::sqrt(dd / yy);
    mean_absolute = absolute / count;
    root_mean_square = std::sqrt(dd / count);
    std::vector<double> p, q;
    double p_sum = 0, q_sum = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
      p.push_back(std::fmax((x[i] - x_min) / (x_max - x_min), 1.1920928955078125e-07));
      q.push_back(std::fmax((y[i] - y_min) / (y_max - y_min), 1.1920928955078125e-07));
      p_sum += p.back();
      q_sum += q.back();
    }
    divergence = 0;
    for (std::size_t i = 0; i < x.size(); ++i)
      divergence += p[i] / p_sum * std::log(p[i] / p_sum / (q[i] / q_sum));
  }
};

}  // namespace

TEST_CASE("compare: the measures follow their formulas, at every instruction set, length and alignment") {
  int levels = 0;
  for (const StatisticsLevel level : kLevels) {
    const PairKernels* kernels = pair_kernels(level);
    if (kernels == nullptr) continue;
    ++levels;
    for (const std::size_t count : {1U, 2U, 3U, 7U, 15U, 16U, 17U, 63U, 100U, 16384U, 16385U, 40000U}) {
      CAPTURE(count);
      CAPTURE(static_cast<int>(level));
      std::vector<float> x = normal(count + 1, 1), y = normal(count + 1, 2, 0.01F);
      for (std::size_t i = 0; i < y.size(); ++i) y[i] += x[i];
      for (std::size_t i = 0; i < y.size(); i += 37) y[i] = 0;
      // From the second element on, so that nothing is aligned.
      const std::vector<float> a(x.begin() + 1, x.end()), b(y.begin() + 1, y.end());
      const Memory from_x(x.data() + 1), from_y(y.data() + 1);
      const std::optional<Comparison> result =
          compare::compare(floats(from_x), floats(from_y), count, 1, Closer::never, *kernels);
      REQUIRE(result);
      const Reference reference(a, b);
      CHECK(result->cosine_similarity == doctest::Approx(reference.cosine).epsilon(1e-9));
      CHECK(result->relative_euclidean_distance == doctest::Approx(reference.distance).epsilon(1e-6));
      CHECK(result->mean_absolute_error == doctest::Approx(reference.mean_absolute).epsilon(1e-6));
      CHECK(result->root_mean_square_error == doctest::Approx(reference.root_mean_square).epsilon(1e-6));
      CHECK(result->accumulated_relative_error ==
            doctest::Approx(reference.relative_sum).epsilon(1e-5).scale(static_cast<double>(count)));
      CHECK(result->max_relative_error == doctest::Approx(reference.relative_max).epsilon(1e-5));
      if (count > 3) CHECK(std::fabs(result->kullback_leibler_divergence - reference.divergence) < 1e-6);
    }
  }
  CHECK(levels >= 1);
}

TEST_CASE("compare: the divergence is right where all shares differ by any factor") {
  constexpr std::size_t kCount = 4096;
  for (const StatisticsLevel level : kLevels) {
    const PairKernels* kernels = pair_kernels(level);
    if (kernels == nullptr) continue;
    // A series ends at (1 + t) / (1 - t), with t of 1/16 and 1/3.
    for (const float factor : {1.0001F, 1.05F, 1.133F, 1.1333F, 1.134F, 1.5F, 1.999F, 2.0F, 2.001F, 8.0F}) {
      CAPTURE(factor);
      CAPTURE(static_cast<int>(level));
      std::vector<float> x(kCount), y(kCount);
      for (std::size_t i = 0; i < kCount; ++i) {
        x[i] = 0.5F + 0.4F * static_cast<float>(i % 997) / 997;
        y[i] = x[i] / factor;
      }
      // Both have all of the range.
      x.insert(x.end(), {0, 1});
      y.insert(y.end(), {0, 1});
      CHECK(std::fabs(of(x, y, 1, *kernels).kullback_leibler_divergence - Reference(x, y).divergence) < 1e-7);
      CHECK(std::fabs(of(y, x, 1, *kernels).kullback_leibler_divergence - Reference(y, x).divergence) < 1e-7);
    }
  }
}

TEST_CASE("compare: many elements are added up in runs of float32, which changes no digit that is shown") {
  struct Values {
    const char* name;
    float scale, offset;
  };
  // Beyond 1e15 and below 1e-10 products leave float32.
  constexpr Values kValues[] = {{"usual", 1, 0},
                                {"far from zero", 1, 100},
                                {"huge", 1e30F, 0},
                                {"tiny", 1e-12F, 0},
                                {"tiny and far", 1e-12F, 3e-11F}};
  const std::size_t count = kThreadElements + 12345;
  for (const Values& values : kValues) {
    const float scale = values.scale;
    CAPTURE(values.name);
    std::vector<float> x = normal(count, 1, scale), y = normal(count, 2, 0.01F * scale);
    for (std::size_t i = 0; i < count; ++i) {
      x[i] += values.offset;
      y[i] += x[i];
    }
    const Reference reference(x, y);
    for (const StatisticsLevel level : kLevels) {
      const PairKernels* kernels = pair_kernels(level);
      if (kernels == nullptr) continue;
      CAPTURE(static_cast<int>(level));
      const Comparison result = of(x, y, 2, *kernels);
      CHECK(result.cosine_similarity == doctest::Approx(reference.cosine).epsilon(1e-8));
      CHECK(result.relative_euclidean_distance == doctest::Approx(reference.distance).epsilon(1e-7));
      CHECK(result.mean_absolute_error == doctest::Approx(reference.mean_absolute).epsilon(1e-7).scale(0));
      CHECK(result.root_mean_square_error ==
            doctest::Approx(reference.root_mean_square).epsilon(1e-7).scale(0));
      CHECK(std::fabs(result.kullback_leibler_divergence - reference.divergence) < 1e-7);
      CHECK(result.x_deviation == doctest::Approx(static_cast<double>(scale)).epsilon(0.01).scale(0));
    }
  }
}

TEST_CASE("compare: runs of float32 give way where one block's values are too far apart for them") {
  std::vector<float> x = normal(2 * kThreadElements, 1), y = x;
  for (std::size_t i = 0; i < x.size(); ++i) y[i] += i % 2 == 0 ? 1e-3F : -1e-3F;
  const Comparison usual = of(x, y);
  CHECK(usual.root_mean_square_error == doctest::Approx(1e-3).epsilon(1e-4));
  x[1000] = y[1000] = std::numeric_limits<float>::lowest();
  x[kThreadElements] = y[kThreadElements] = 1e20F;
  const Comparison masked = of(x, y);
  CHECK(masked.root_mean_square_error == doctest::Approx(1e-3).epsilon(1e-4));
  CHECK(masked.cosine_similarity == 1);
  CHECK(std::isfinite(masked.x_deviation));
  x.assign(x.size(), 0);
  y.assign(y.size(), 1e-18F);
  CHECK(of(x, y).relative_euclidean_distance == doctest::Approx(1).epsilon(1e-6));
}

TEST_CASE("compare: what is printed does not depend on the number of threads") {
  const std::vector<float> x = normal(3 * kThreadElements + 5, 1);
  std::vector<float> y = x;
  y[2 * kThreadElements + 1] += 0.5F;
  y[2 * kThreadElements + 2] += 0.25F;
  const Comparison one = of(x, y, 1);
  for (const unsigned threads : {2U, 3U, 8U}) {
    const Comparison many = of(x, y, threads);
    CHECK(many.cosine_similarity == one.cosine_similarity);
    CHECK(many.kullback_leibler_divergence == one.kullback_leibler_divergence);
    CHECK(many.mean_absolute_error == one.mean_absolute_error);
    CHECK(many.x_deviation == one.x_deviation);
    CHECK(many.max_absolute_at == one.max_absolute_at);
  }
  CHECK(*one.max_absolute_at == 2 * kThreadElements + 1);
  CHECK(one.equal == x.size() - 2);
}

TEST_CASE("compare: the largest error is found at its first place") {
  std::vector<float> x(100000, 1), y(100000, 1);
  x[70000] = 2;
  x[90000] = 2;
  for (const unsigned threads : {1U, 4U}) {
    const Comparison result = of(x, y, threads);
    CHECK(*result.max_absolute_at == 70000);
    CHECK(*result.max_relative_at == 70000);
    CHECK(result.x_at_max == 2);
    CHECK(result.y_at_max == 1);
  }
  const Comparison same = of(y, y);
  CHECK_FALSE(same.max_absolute_at);
  CHECK_FALSE(same.max_relative_at);
  CHECK(same.equal == y.size());
  CHECK(same.kullback_leibler_divergence == 0);
}

TEST_CASE("compare: zeros, constants, NaNs and infinities are as the vendor has them") {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float inf = std::numeric_limits<float>::infinity();
  for (const StatisticsLevel level : kLevels) {
    const PairKernels* kernels = pair_kernels(level);
    if (kernels == nullptr) continue;
    CAPTURE(static_cast<int>(level));
    const std::vector<float> zeros(40, 0), ones(40, 1), ramp = [] {
      std::vector<float> values(40);
      for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i);
      return values;
    }();
    const Comparison both_zero = of(zeros, zeros, 1, *kernels);
    CHECK(both_zero.cosine_similarity == 1);
    CHECK(both_zero.accumulated_relative_error == 0);
    CHECK(both_zero.relative_euclidean_distance == 0);
    CHECK(both_zero.kullback_leibler_divergence == 0);

    const Comparison golden_zero = of(ones, zeros, 1, *kernels);
    CHECK(std::isnan(golden_zero.cosine_similarity));
    CHECK(golden_zero.y_is_zero);
    CHECK_FALSE(golden_zero.x_is_zero);
    CHECK(golden_zero.max_relative_error == 0);
    CHECK(golden_zero.max_absolute_error == 1);
    CHECK(golden_zero.kullback_leibler_divergence == 0);
    CHECK(of(zeros, ones, 1, *kernels).x_is_zero);

    const Comparison constant = of(ones, ramp, 1, *kernels);
    CHECK(std::isfinite(constant.kullback_leibler_divergence));
    CHECK(constant.kullback_leibler_divergence > 0);

    std::vector<float> hurt = ramp;
    hurt[33] = nan;
    const Comparison with_nan = of(hurt, ramp, 1, *kernels);
    for (const double value :
         {with_nan.cosine_similarity, with_nan.max_absolute_error, with_nan.accumulated_relative_error,
          with_nan.relative_euclidean_distance, with_nan.kullback_leibler_divergence,
          with_nan.mean_absolute_error, with_nan.root_mean_square_error, with_nan.max_relative_error,
          with_nan.mean_relative_error, with_nan.x_mean, with_nan.x_deviation}) {
      CHECK(std::isnan(value));
    }
    CHECK(with_nan.equal == 39);
    CHECK(of(hurt, hurt, 1, *kernels).equal == 40);
    CHECK(*of(hurt, hurt, 1, *kernels).max_ulp == 0);

    hurt[33] = inf;
    const Comparison with_inf = of(hurt, ramp, 1, *kernels);
    CHECK(with_inf.max_absolute_error == std::numeric_limits<double>::infinity());
    CHECK(std::isnan(with_inf.kullback_leibler_divergence));
    CHECK(of(hurt, hurt, 1, *kernels).max_absolute_error == 0);
    CHECK(std::isnan(of(hurt, hurt, 1, *kernels).vendor->max_absolute_error));
    CHECK(*with_inf.max_absolute_at == 33);
  }
}

TEST_CASE("compare: what both sides have for no number is left out, and what one side has is not") {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float inf = std::numeric_limits<float>::infinity();
  for (const std::size_t count : {3U, 40U, 5000U, static_cast<unsigned>(kThreadElements) + 5}) {
    CAPTURE(count);
    std::vector<float> x = normal(count, 1), y = x;
    x[1] = y[1] + 0.5F;
    const Comparison plain = of(x, y);
    for (const float odd : {nan, inf, -inf}) {
      std::vector<float> a = x, b = y;
      a.insert(a.begin() + 2, odd);
      b.insert(b.begin() + 2, odd);
      const Comparison masked = of(a, b);
      CHECK(masked.elements == count + 1);
      CHECK(masked.equal == count);
      for (double Measures::*const measure :
           {&Measures::cosine_similarity, &Measures::max_absolute_error,
            &Measures::relative_euclidean_distance, &Measures::kullback_leibler_divergence, &Measures::x_mean,
            &Measures::x_deviation, &Measures::mean_absolute_error, &Measures::root_mean_square_error,
            &Measures::max_relative_error, &Measures::mean_relative_error})
        CHECK(masked.*measure == doctest::Approx(plain.*measure).epsilon(1e-5));
      CHECK(*masked.max_absolute_at == 1);
      a[2] = 1;
      CHECK_FALSE(of(a, b).cosine_similarity > 0);
      a[2] = -odd;
      if (odd != odd) continue;
      CHECK_FALSE(of(a, b).cosine_similarity > 0);
    }
  }
}

TEST_CASE("compare: the quotients of tiny numbers are theirs") {
  std::vector<float> x(100, 1e-19F), y(100, -1e-19F);
  CHECK(of(x, y).cosine_similarity == doctest::Approx(-1));
  CHECK(of(x, y).relative_euclidean_distance == doctest::Approx(2));
  CHECK(of(x, y).max_relative_error == doctest::Approx(2));
  CHECK(of(x, y).vendor->cosine_similarity == 1);
  x = y;
  x[50] *= 1.01F;
  CHECK(of(x, y).max_relative_error == doctest::Approx(0.01).epsilon(1e-3));
  // Beside nothing at all, next to nothing is the same, and more is not.
  const std::vector<float> zeros(100, 0), ones(100, 1);
  CHECK(of(std::vector<float>(100, 1e-19F), zeros).cosine_similarity == 1);
  CHECK(std::isnan(of(zeros, y).cosine_similarity));
  CHECK(std::isinf(of(ones, zeros).relative_euclidean_distance));
}

TEST_CASE("compare: huge and tiny ranges have shares too") {
  const float most = std::numeric_limits<float>::max();
  for (const float scale : {most, 1e-30F, 1e-38F, std::numeric_limits<float>::denorm_min() * 64}) {
    CAPTURE(scale);
    std::vector<float> x, y;
    for (int i = -20; i <= 20; ++i) {
      x.push_back(scale / 20 * static_cast<float>(i));
      y.push_back(scale / 20 * static_cast<float>(i > 0 ? i / 2 : i));
    }
    const double divergence = of(x, y).kullback_leibler_divergence;
    CHECK(std::isfinite(divergence));
    CHECK(divergence > 0.001);
  }
}

TEST_CASE("compare: a deviation that is tiny beside its mean is right") {
  std::vector<float> x(5000), y(5000);
  for (std::size_t i = 0; i < x.size(); ++i) {
    x[i] = 1e6F + (i % 2 == 0 ? 1.0F : -1.0F);
    y[i] = 1e7F + (i % 2 == 0 ? 1.0F : -1.0F);
  }
  const Comparison result = of(x, y);
  CHECK(result.x_deviation == doctest::Approx(1).epsilon(1e-9));
  CHECK(result.y_deviation == doctest::Approx(1).epsilon(1e-9));
}

TEST_CASE("compare: distances in units in the last place, in every floating dtype") {
  for (const StatisticsLevel level : kLevels) {
    const PairKernels* kernels = pair_kernels(level);
    if (kernels == nullptr) continue;
    CAPTURE(static_cast<int>(level));
    std::vector<float> x(100, 1), y(100, 1);
    y[70] = std::nextafter(std::nextafter(1.0F, 2.0F), 2.0F);
    CHECK(*of(x, y, 1, *kernels).max_ulp == 2);
    x[5] = -0.0F;
    y[5] = 0.0F;
    CHECK(*of(x, y, 1, *kernels).max_ulp == 2);
    CHECK(of(x, y, 1, *kernels).equal == 99);
    x[5] = -std::numeric_limits<float>::denorm_min();
    y[5] = 5 * std::numeric_limits<float>::denorm_min();
    CHECK(*of(x, y, 1, *kernels).max_ulp == 6);
    x[5] = -std::numeric_limits<float>::max();
    y[5] = std::numeric_limits<float>::max();
    CHECK(*of(x, y, 1, *kernels).max_ulp == 2 * std::uint64_t{0x7f7fffff});
    for (const float sign : {1.0F, -1.0F}) {
      std::vector<float> many(2048, 1), others(2048, 1);
      many[700] = std::copysign(std::numeric_limits<float>::quiet_NaN(), sign);
      others[1500] = std::nextafter(1.0F, 2.0F);
      CHECK(*of(many, others, 1, *kernels).max_ulp == 1);
      CHECK(of(many, others, 1, *kernels).equal == 2046);
    }

    ExactSums halves;
    std::vector<std::uint16_t> a(200, 0x3c00), b(200, 0x3c00);
    b[130] = 0x3bff;
    a[150] = 0x8001;
    b[150] = 0x0001;
    a[160] = 0x7e00;
    kernels->add_exact_float16(reinterpret_cast<const std::byte*>(a.data()),
                               reinterpret_cast<const std::byte*>(b.data()), a.size(), halves);
    CHECK(halves.max_ulp == 2);
    CHECK(halves.equal == 197);
    a[160] = 0x3c00;
    a[170] = 0xfbff;
    b[170] = 0x7bff;
    ExactSums far;
    kernels->add_exact_float16(reinterpret_cast<const std::byte*>(a.data()),
                               reinterpret_cast<const std::byte*>(b.data()), a.size(), far);
    CHECK(far.max_ulp == 2 * 0x7bff);
    ExactSums bfloats;
    kernels->add_exact_bfloat16(reinterpret_cast<const std::byte*>(a.data()),
                                reinterpret_cast<const std::byte*>(b.data()), a.size(), bfloats);
    CHECK(bfloats.equal == 197);
  }
}

namespace {

ComparedArray doubles(const ElementSource& source, ToPairs to_pairs) {
  return {.source = &source,
          .dtype = DType::float64,
          .item_bits = 64,
          .to_floats =
              [](const std::byte* from, std::size_t count, float* to) {
                for (std::size_t i = 0; i < count; ++i) {
                  double value;
                  std::memcpy(&value, from + 8 * i, sizeof value);
                  to[i] = static_cast<float>(value);
                }
              },
          .to_pairs = to_pairs};
}

void plain_pairs(const std::byte* from, std::size_t count, double* first, double* second) {
  std::memcpy(first, from, count * sizeof *first);
  std::fill_n(second, count, 0.0);
}

}  // namespace

TEST_CASE("compare: float64 is compared in float64, whatever its size") {
  for (const double scale : {1.0, 1e-200, 1e200, 1e-310, 1e308}) {
    CAPTURE(scale);
    std::vector<double> x = {scale, -scale, scale / 2, 0}, y = x;
    x[1] = -scale * (1 + 1e-9);
    const Memory a(x.data()), b(y.data());
    const std::optional<Comparison> got =
        compare::compare(doubles(a, plain_pairs), doubles(b, plain_pairs), x.size(), 1, Closer::always);
    REQUIRE(got);
    CHECK(got->equal == 3);
    CHECK(got->max_absolute_error == std::fabs(x[1] - y[1]));
    CHECK(*got->max_absolute_at == 1);
    CHECK(got->relative_euclidean_distance == doctest::Approx(1e-9 / 1.5).epsilon(1e-3));
    CHECK(got->cosine_similarity == doctest::Approx(1));
    CHECK(got->root_mean_square_error == doctest::Approx(scale * 0.5e-9).epsilon(1e-3));
    CHECK(got->x_deviation == doctest::Approx(scale * 0.7395).epsilon(1e-3));
    CHECK(got->max_relative_error == doctest::Approx(1e-9).epsilon(1e-3));
    CHECK(got->vendor->max_absolute_error != got->max_absolute_error);
    CHECK(got->detail->within_thousandth == 1);
    y[1] = scale;
    const std::optional<Comparison> other =
        compare::compare(doubles(a, plain_pairs), doubles(b, plain_pairs), x.size(), 1);
    REQUIRE(other);
    CHECK(other->cosine_similarity == doctest::Approx(0.25 / 2.25));
  }
  const double one = 1, next = std::nextafter(1.0, 2.0);
  const Memory a(&one), b(&next);
  const std::optional<Comparison> got =
      compare::compare(doubles(a, plain_pairs), doubles(b, plain_pairs), 1, 1);
  REQUIRE(got);
  CHECK(*got->max_ulp == 1);
  CHECK(got->equal == 0);
  CHECK(got->max_absolute_error == next - one);
  CHECK(got->vendor->max_absolute_error == 0);
}

TEST_CASE("compare: every float16 becomes its float32 at every instruction set") {
  std::vector<std::uint16_t> halves(65536);
  for (std::size_t i = 0; i < halves.size(); ++i) halves[i] = static_cast<std::uint16_t>(i);
  std::vector<float> expected(halves.size()), got(halves.size());
  const auto* bytes = reinterpret_cast<const std::byte*>(halves.data());
  pair_kernels(StatisticsLevel::portable)->float16_to_float(bytes, halves.size(), expected.data());
  CHECK(expected[0x3c00] == 1);
  CHECK(expected[0x0001] == 0x1p-24F);
  CHECK(expected[0xfbff] == -65504);
  CHECK(std::isinf(expected[0x7c00]));
  CHECK(std::isnan(expected[0x7c01]));
  for (const StatisticsLevel level : kLevels) {
    const PairKernels* kernels = pair_kernels(level);
    if (kernels == nullptr) continue;
    kernels->float16_to_float(bytes, halves.size(), got.data());
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < got.size(); ++i) {
      const bool same = std::bit_cast<std::uint32_t>(got[i]) == std::bit_cast<std::uint32_t>(expected[i]);
      wrong += same || (std::isnan(got[i]) && std::isnan(expected[i])) ? 0 : 1;
    }
    CHECK(wrong == 0);
  }
}

TEST_CASE("compare: a source that ends early is told, on any number of threads") {
  const std::vector<float> x = normal(2 * kThreadElements, 1);
  const Memory whole(x.data());
  const ShortMemory part(x.data(), x.size() * 4 - 1);
  for (const unsigned threads : {1U, 2U}) {
    CHECK_FALSE(compare::compare(floats(whole), floats(part), x.size(), threads));
    CHECK_FALSE(compare::compare(floats(part), floats(whole), x.size(), threads));
  }
}
