#include "src/kernels/pairs/pair_kernels.hpp"

#include <algorithm>
#include <cmath>

#include "opdump/impl/stats/numbers.hpp"
#include "src/kernels/pairs/pair_kernel_tables.hpp"

namespace opdump::compare {

void PairSums::add(const PairSums& other) {
  x += other.x;
  y += other.y;
  xx += other.xx;
  yy += other.yy;
  xy += other.xy;
  absolute += other.absolute;
  squared += other.squared;
  relative += other.relative;
  x_min = other.x_min < x_min ? other.x_min : x_min;
  x_max = other.x_max > x_max ? other.x_max : x_max;
  y_min = other.y_min < y_min ? other.y_min : y_min;
  y_max = other.y_max > y_max ? other.y_max : y_max;
  max_absolute = other.max_absolute > max_absolute ? other.max_absolute : max_absolute;
  max_relative = other.max_relative > max_relative ? other.max_relative : max_relative;
}

void DivergenceSums::add(const DivergenceSums& other) {
  p += other.p;
  q += other.q;
  p_ln_ratio += other.p_ln_ratio;
}

void DeviationSums::add(const DeviationSums& other) {
  x += other.x;
  y += other.y;
}

void ExactSums::add(const ExactSums& other) {
  equal += other.equal;
  max_ulp = other.max_ulp > max_ulp ? other.max_ulp : max_ulp;
}

ShareOf ShareOf::range(float min, float max) {
  // Where all values are one, all shares are: any value will do for them.
  if (!(max > min)) return {.scale = 0, .low = -1};
  const double range = static_cast<double>(max) - static_cast<double>(min);
  constexpr int kLargest = 126;  // of a normal float whose reciprocal is one too
  const int exponent = std::clamp(std::ilogb(range), -kLargest, kLargest);
  ShareOf share;
  share.scale = std::ldexp(1.0F, -exponent);
  share.low = min * share.scale;
  share.least = kLeastShare * (max * share.scale - share.low);
  return share;
}

namespace {

void add_pairs(const float* x, const float* y, std::size_t count, PairSums& sums) {
  for (std::size_t i = 0; i < count; ++i) {
    const double a = static_cast<double>(x[i]);
    const double b = static_cast<double>(y[i]);
    const float absolute = std::fabs(x[i] - y[i]);
    const float relative =
        std::fabs(y[i]) > static_cast<float>(kZero) || y[i] != y[i] ? std::fabs(x[i] / y[i] - 1) : 0;
    sums.x += a;
    sums.y += b;
    sums.xx += a * a;
    sums.yy += b * b;
    sums.xy += a * b;
    sums.absolute += static_cast<double>(absolute);
    sums.squared += static_cast<double>(absolute) * static_cast<double>(absolute);
    sums.relative += static_cast<double>(relative);
    sums.x_min = x[i] < sums.x_min ? x[i] : sums.x_min;
    sums.x_max = x[i] > sums.x_max ? x[i] : sums.x_max;
    sums.y_min = y[i] < sums.y_min ? y[i] : sums.y_min;
    sums.y_max = y[i] > sums.y_max ? y[i] : sums.y_max;
    sums.max_absolute = absolute > sums.max_absolute ? absolute : sums.max_absolute;
    sums.max_relative = relative > sums.max_relative ? relative : sums.max_relative;
  }
}

void add_divergence(const float* x, const float* y, std::size_t count, const ShareOf& p_of,
                    const ShareOf& q_of, DivergenceSums& sums) {
  for (std::size_t i = 0; i < count; ++i) {
    const double p = static_cast<double>(p_of(x[i]));
    const double q = static_cast<double>(q_of(y[i]));
    sums.p += p;
    sums.q += q;
    sums.p_ln_ratio += p * std::log(p / q);
  }
}

void add_deviation(const float* x, const float* y, std::size_t count, double x_mean, double y_mean,
                   DeviationSums& sums) {
  for (std::size_t i = 0; i < count; ++i) {
    const double a = static_cast<double>(x[i]) - x_mean;
    const double b = static_cast<double>(y[i]) - y_mean;
    sums.x += a * a;
    sums.y += b * b;
  }
}

void add_close(const float* x, const float* y, std::size_t count, const CloseLimits&, CloseCounts& counts,
               std::uint64_t* open) {
  for (std::size_t i = 0; i < count; ++i) {
    const double golden = std::fabs(static_cast<double>(y[i]));
    const double distance = std::fabs(static_cast<double>(x[i]) - static_cast<double>(y[i]));
    // Infinities have distances that pass all golden numbers, or NaN.
    counts.near += distance * static_cast<double>(kNear) <= golden && std::isfinite(distance) ? 1 : 0;
    counts.less_near +=
        distance * static_cast<double>(kLessNear) <= golden && std::isfinite(distance) ? 1 : 0;
  }
  std::fill_n(open, count / 64, ~std::uint64_t{0});
  if (count % 64 != 0) open[count / 64] = (std::uint64_t{1} << count % 64) - 1;
}

/// Elements as integers that ascend with the number, both zeros being one.
template <class Format>
void add_exact(const std::byte* x, const std::byte* y, std::size_t count, ExactSums& sums) {
  using Bits = typename Format::Bits;
  const auto order = [](Bits bits) {
    const std::int64_t magnitude = bits & Format::kMagnitude;
    return bits > Format::kMagnitude ? -magnitude : magnitude;
  };
  for (std::size_t i = 0; i < count; ++i) {
    const Bits a = load_element<Bits>(x + i * sizeof(Bits));
    const Bits b = load_element<Bits>(y + i * sizeof(Bits));
    const bool a_is_nan = (a & Format::kMagnitude) > Format::kMaxNumber;
    const bool b_is_nan = (b & Format::kMagnitude) > Format::kMaxNumber;
    if (a_is_nan || b_is_nan) {
      sums.equal += a_is_nan && b_is_nan ? 1 : 0;
      continue;
    }
    const std::int64_t distance = order(a) - order(b);
    sums.equal += distance == 0 ? 1 : 0;
    const std::uint32_t ulp = static_cast<std::uint32_t>(distance < 0 ? -distance : distance);
    sums.max_ulp = ulp > sums.max_ulp ? ulp : sums.max_ulp;
  }
}

void float16_to_float(const std::byte* from, std::size_t count, float* to) {
  for (std::size_t i = 0; i < count; ++i)
    to[i] = static_cast<float>(float_value<Float16Format>(load_element<std::uint16_t>(from + 2 * i)));
}

}  // namespace

const PairKernels kPortablePairs{
    .add_pairs = add_pairs,
    .add_pairs_in_runs = add_pairs,
    .add_divergence = add_divergence,
    .add_deviation = add_deviation,
    .add_close = add_close,
    .add_exact_float32 = add_exact<Float32Format>,
    .add_exact_float16 = add_exact<Float16Format>,
    .add_exact_bfloat16 = add_exact<Bfloat16Format>,
    .float16_to_float = float16_to_float,
};

const PairKernels* pair_kernels(StatisticsLevel level) {
  if (statistics_kernels(level) == nullptr) return nullptr;
  switch (level) {
    case StatisticsLevel::portable:
      return &kPortablePairs;
#if defined(__x86_64__)
    case StatisticsLevel::avx2:
      return &kAvx2Pairs;
#elif defined(__aarch64__)
    case StatisticsLevel::neon:
      return &kNeonPairs;
#endif
    default:
      return nullptr;
  }
}

const PairKernels& pair_kernels() {
  for (const StatisticsLevel level : {StatisticsLevel::avx2, StatisticsLevel::neon}) {
    if (const PairKernels* kernels = pair_kernels(level)) return *kernels;
  }
  return kPortablePairs;
}

}  // namespace opdump::compare
