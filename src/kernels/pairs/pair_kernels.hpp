#pragma once
#include <cstddef>
#include <cstdint>
#include <limits>

#include "opdump/impl/stats/kernels.hpp"

/// The inner loops of a comparison: two arrays of float32, element by element. `x` is ours, `y` the golden
/// one. Kernels differ in the order of their sums, hence in the last bits of those, and in nothing else.

namespace opdump::compare {

/// A golden magnitude up to this counts as zero: its relative error is 0. Source: msaccucmp.
inline constexpr double kZero = 2.220446049250313e-16;

/// The least share of a distribution. Source: msaccucmp.
inline constexpr float kLeastShare = std::numeric_limits<float>::epsilon();

/// What one pass over pairs adds up. A NaN in a sum tells of one among its terms; maxima and minima pass over NaNs.
struct PairSums {
  double x = 0;
  double y = 0;
  double xx = 0;
  double yy = 0;
  double xy = 0;
  double absolute = 0;  ///< of |x-y|
  double squared = 0;   ///< of (x-y)^2
  double relative = 0;  ///< of |x/y-1|, or 0 where y is zero
  float x_min = std::numeric_limits<float>::infinity();
  float x_max = -std::numeric_limits<float>::infinity();
  float y_min = std::numeric_limits<float>::infinity();
  float y_max = -std::numeric_limits<float>::infinity();
  float max_absolute = 0;
  float max_relative = 0;

  void add(const PairSums& other);
};

/// Turns the values of one array into shares from kLeastShare to 1 of a range, times a power of two, whatever
/// the values are: v * scale - low, at least `least`. The scale, a power of two, brings the range to 1 to 2,
/// so that neither huge nor tiny values leave float32, and nothing needs to be divided by it.
struct ShareOf {
  float scale = 1;
  float low = 0;
  float least = kLeastShare;

  static ShareOf range(float min, float max);

  float operator()(float value) const {
    const float share = value * scale - low;
    return share > least ? share : least;
  }
};

/// What a second pass adds up, with what the first one found.
struct DivergenceSums {
  double p = 0;           ///< of x's shares
  double q = 0;           ///< of y's
  double p_ln_ratio = 0;  ///< of p * ln(p / q)

  void add(const DivergenceSums& other);
};

struct DeviationSums {
  double x = 0;  ///< of (x - mean)^2
  double y = 0;

  void add(const DeviationSums& other);
};

/// How far two arrays of one floating dtype are apart in their own bits.
struct ExactSums {
  std::uint64_t equal = 0;    ///< the same number, or both NaN
  std::uint32_t max_ulp = 0;  ///< numbers of the dtype from one to the other; where neither is a NaN

  void add(const ExactSums& other);
};

/// An element is near where that many times its error is at most the golden element.
inline constexpr float kNear = 1000;
inline constexpr float kLessNear = 200;
/// Two numbers are close when they are at most this, and this share of the golden one, apart.
inline constexpr double kClose = 1e-5;

/// What a closer look asks of errors, |x-y|, and of their quotients by |y|, as float32 computes both: those
/// from `at` up to below `above` are counted, and those from `above` on are open.
struct CloseLimits {
  float absolute_at = 0;
  float absolute_above = 0;  ///< at most infinity
  float relative_at = 0;
  float relative_above = 0;
};

struct CloseCounts {
  std::uint64_t near = 0;       ///< of all elements that are finite on both sides
  std::uint64_t less_near = 0;  ///< the same
  // Of elements that are not open.
  std::uint64_t not_close = 0;
  std::uint64_t absolute_at = 0;
  std::uint64_t relative_at = 0;
};

/// All take any `count` and any address. Kernels of bytes take little-endian elements.
struct PairKernels {
  void (*add_pairs)(const float* x, const float* y, std::size_t count, PairSums& sums);
  /// The same with 16 terms of every sum added up as float32 before they go to a float64, which is within
  /// 2^-20 of the sum of their magnitudes. Where products leave float32, so does the result.
  void (*add_pairs_in_runs)(const float* x, const float* y, std::size_t count, PairSums& sums);
  void (*add_divergence)(const float* x, const float* y, std::size_t count, const ShareOf& p,
                         const ShareOf& q, DivergenceSums& sums);
  void (*add_deviation)(const float* x, const float* y, std::size_t count, double x_mean, double y_mean,
                        DeviationSums& sums);
  /// Leaves `open`, with bits of 1 in a word for each 64 elements, what is above the limits or not finite,
  /// and where float32 does not decide whether two numbers are close.
  void (*add_close)(const float* x, const float* y, std::size_t count, const CloseLimits& limits,
                    CloseCounts& counts, std::uint64_t* open);
  void (*add_exact_float32)(const std::byte* x, const std::byte* y, std::size_t count, ExactSums& sums);
  void (*add_exact_float16)(const std::byte* x, const std::byte* y, std::size_t count, ExactSums& sums);
  void (*add_exact_bfloat16)(const std::byte* x, const std::byte* y, std::size_t count, ExactSums& sums);
  void (*float16_to_float)(const std::byte* from, std::size_t count, float* to);
};

/// Null where this processor has no such instructions.
const PairKernels* pair_kernels(StatisticsLevel level);

/// The fastest ones that this processor has.
const PairKernels& pair_kernels();

}  // namespace opdump::compare
