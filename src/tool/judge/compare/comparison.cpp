#include "src/tool/judge/compare/comparison.hpp"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "opdump/impl/stats/numbers.hpp"
#include "src/tool/judge/compare/pair_blocks.hpp"

namespace opdump::compare {
namespace {

struct Maximum {
  float value = 0;
  std::uint64_t at = 0;
  float x = 0;
  float y = 0;
};

struct FirstPass {
  PairSums sums;
  ExactSums exact;
  std::uint64_t max_ulp64 = 0;
  Maximum absolute;
  Maximum relative;
};

struct SecondPass {
  DivergenceSums divergence;
  DeviationSums deviation;
};

bool is_plain_float32(const ComparedArray& array) {
  return array.dtype == DType::float32;
}

using AddExact = void (*)(const std::byte*, const std::byte*, std::size_t, ExactSums&);

AddExact exact_kernel(DType dtype, const PairKernels& kernels) {
  switch (dtype) {
    case DType::float32:
      return kernels.add_exact_float32;
    case DType::float16:
      return kernels.add_exact_float16;
    case DType::bfloat16:
      return kernels.add_exact_bfloat16;
    default:
      return nullptr;
  }
}

float absolute_error(float x, float y) {
  return std::fabs(x - y);
}

float relative_error(float x, float y) {
  return std::fabs(y) > static_cast<float>(kZero) ? std::fabs(x / y - 1) : 0;
}

/// The largest error that any thread has seen so far, so that few blocks have to be searched for theirs.
class SharedMaximum {
 public:
  bool reaches(float value) const {
    return std::bit_cast<std::uint32_t>(value) >= bits_.load(std::memory_order_relaxed);
  }
  void raise(float value) {
    // Floats that are not negative ascend as their bits do.
    const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
    std::uint32_t seen = bits_.load(std::memory_order_relaxed);
    while (seen < bits && !bits_.compare_exchange_weak(seen, bits, std::memory_order_relaxed)) {
    }
  }

 private:
  std::atomic<std::uint32_t> bits_{0};
};

/// Where in a block the error is `largest`, which some pair of it has.
Maximum find(float largest, float (*error)(float, float), const float* x, const float* y, std::size_t count,
             std::uint64_t first) {
  for (std::size_t i = 0; i < count; ++i) {
    if (error(x[i], y[i]) >= largest) return {largest, first + i, x[i], y[i]};
  }
  return {largest, first, x[0], y[0]};
}

std::uint64_t count_equal(const std::byte* x, const std::byte* y, std::size_t count,
                          std::uint32_t item_bits) {
  const std::size_t width = item_bits / 8;
  std::uint64_t equal = 0;
  for (std::size_t i = 0; i < count; ++i)
    equal += std::memcmp(x + i * width, y + i * width, width) == 0 ? 1 : 0;
  return equal;
}

std::uint64_t count_equal(const float* x, const float* y, std::size_t count) {
  std::uint64_t equal = 0;
  for (std::size_t i = 0; i < count; ++i) equal += x[i] == y[i] || (x[i] != x[i] && y[i] != y[i]) ? 1 : 0;
  return equal;
}

void add_exact_float64(const std::byte* x, const std::byte* y, std::size_t count, FirstPass& pass) {
  using Format = Float64Format;
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint64_t a = load_element<std::uint64_t>(x + 8 * i);
    const std::uint64_t b = load_element<std::uint64_t>(y + 8 * i);
    const std::uint64_t a_size = a & Format::kMagnitude;
    const std::uint64_t b_size = b & Format::kMagnitude;
    const bool a_is_nan = a_size > Format::kMaxNumber;
    const bool b_is_nan = b_size > Format::kMaxNumber;
    if (a_is_nan || b_is_nan) {
      pass.exact.equal += a_is_nan && b_is_nan ? 1 : 0;
      continue;
    }
    const bool same_sign = a >> 63 == b >> 63;
    const std::uint64_t ulp =
        same_sign ? std::max(a_size, b_size) - std::min(a_size, b_size) : a_size + b_size;
    pass.exact.equal += ulp == 0 ? 1 : 0;
    pass.max_ulp64 = std::max(pass.max_ulp64, ulp);
  }
}

class PairReader {
 public:
  PairReader(const ComparedArray& x, const ComparedArray& y) : arrays_{&x, &y} {
    for (std::size_t side = 0; side < 2; ++side) {
      raw_[side].resize(kBlockElements * arrays_[side]->item_bits / 8);
      if (!is_plain_float32(*arrays_[side])) floats_[side].resize(kBlockElements);
    }
  }

  bool read(std::uint64_t first, std::size_t count) {
    for (std::size_t side = 0; side < 2; ++side) {
      const ComparedArray& array = *arrays_[side];
      const std::size_t bytes = (count * array.item_bits + 7) / 8;
      bytes_[side] = array.source->read(first * array.item_bits / 8, bytes, raw_[side].data());
      if (bytes_[side] == nullptr) return false;
      if (is_plain_float32(array) && reinterpret_cast<std::uintptr_t>(bytes_[side]) % alignof(float) == 0) {
        numbers_[side] = reinterpret_cast<const float*>(bytes_[side]);
        continue;
      }
      floats_[side].resize(kBlockElements);
      array.to_floats(bytes_[side], count, floats_[side].data());
      numbers_[side] = floats_[side].data();
    }
    return true;
  }

  const float* x() const { return numbers_[0]; }
  const float* y() const { return numbers_[1]; }
  const std::byte* x_bytes() const { return bytes_[0]; }
  const std::byte* y_bytes() const { return bytes_[1]; }

 private:
  const ComparedArray* arrays_[2];
  std::vector<std::byte> raw_[2];
  std::vector<float> floats_[2];
  const std::byte* bytes_[2] = {};
  const float* numbers_[2] = {};
};

/// Whether no product of the block can have left float32, or lost digits at its lower end that would show.
bool products_fit(const PairSums& block) {
  const auto fits = [](float largest) { return largest == 0 || (largest > 0x1p-40F && largest < 0x1p+60F); };
  return fits(std::max(-block.x_min, block.x_max)) && fits(std::max(-block.y_min, block.y_max)) &&
         fits(block.max_absolute);
}

/// The rounding of float32 averages out over many blocks; few elements can afford float64.
PairSums add_block(const PairKernels& kernels, const PairReader& pair, std::size_t count,
                   bool is_one_of_many) {
  PairSums block;
  if (is_one_of_many) {
    kernels.add_pairs_in_runs(pair.x(), pair.y(), count, block);
    if (products_fit(block)) return block;
    block = {};
  }
  kernels.add_pairs(pair.x(), pair.y(), count, block);
  return block;
}

/// Takes few of many elements, and of all stretches of them.
void add_sample(const Block& block, const PairReader& pair, bool is_one_of_many, DetailSample& sample) {
  constexpr std::size_t kTaken = 8;
  const std::size_t stride = is_one_of_many ? 1024 : 128;
  for (std::size_t i = 0; i < block.count; i += stride)
    sample.add(pair.x() + i, pair.y() + i, std::min(kTaken, block.count - i));
}

double deviation_from_squares(double sum, double squares, double count) {
  const double mean = sum / count;
  const double variance = squares / count - mean * mean;
  return variance < 0 ? 0 : std::sqrt(variance);
}

/// Whether the difference of squares, which are right to about 7 digits, would lose digits that the result shows.
bool squares_cancel(double sum, double squares, double count) {
  const double mean = sum / count;
  return std::isfinite(squares) && mean * mean > 0.99 * (squares / count);
}

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

void compare_first(const FirstPass& pass, double count, Comparison& result) {
  const PairSums& sums = pass.sums;
  const double x_norm = std::sqrt(sums.xx);
  const double y_norm = std::sqrt(sums.yy);
  // The vendor asks for the root of the norm, unless both are zero.
  const bool both_zero = x_norm <= kZero && y_norm < kZero;
  result.x_is_zero = !both_zero && std::sqrt(x_norm) <= kZero;
  result.y_is_zero = !both_zero && !result.x_is_zero && std::sqrt(y_norm) <= kZero;
  if (both_zero) {
    result.cosine_similarity = 1;
  } else if (result.x_is_zero || result.y_is_zero) {
    result.cosine_similarity = kNan;
  } else {
    const double cosine = sums.xy / x_norm / y_norm;
    result.cosine_similarity = cosine > 1 ? 1 : cosine;
  }
  // Maxima pass over NaNs, sums do not.
  result.max_absolute_error = std::isnan(sums.absolute) ? kNan : static_cast<double>(sums.max_absolute);
  result.max_relative_error = std::isnan(sums.relative) ? kNan : static_cast<double>(sums.max_relative);
  result.accumulated_relative_error = sums.relative;
  result.mean_relative_error = sums.relative / count;
  result.mean_absolute_error = sums.absolute / count;
  result.root_mean_square_error = std::sqrt(sums.squared / count);
  result.relative_euclidean_distance = y_norm <= kZero ? 0 : std::sqrt(sums.squared / sums.yy);
  result.x_mean = sums.x / count;
  result.y_mean = sums.y / count;
  if (pass.absolute.value > 0) {
    result.max_absolute_at = pass.absolute.at;
    result.x_at_max = static_cast<double>(pass.absolute.x);
    result.y_at_max = static_cast<double>(pass.absolute.y);
  }
  if (pass.relative.value > 0) result.max_relative_at = pass.relative.at;
}

/// What the float32 of two arrays tells of the numbers that they hold.
struct FloatFacts {
  bool all_finite = true;  ///< elements, and their differences
  bool is_tiny = false;    ///< a side has no element of a usual size, but others
};

/// Both sides as msaccucmp takes them.
std::optional<Comparison> compare_floats(const ComparedArray& x, const ComparedArray& y,
                                         std::uint64_t elements, std::size_t workers, bool detail,
                                         const PairKernels& kernels, FloatFacts& facts) {
  Comparison result;
  result.elements = elements;
  const std::size_t parts = part_count(elements);
  const bool is_many = elements >= kThreadElements;
  const bool same_dtype = x.dtype == y.dtype && x.item_bits == y.item_bits;
  const AddExact add_exact = same_dtype ? exact_kernel(x.dtype, kernels) : nullptr;

  std::vector<FirstPass> first(parts);
  std::vector<DetailSample> samples(detail ? workers : 0);
  SharedMaximum max_absolute, max_relative;
  const bool read =
      for_each_block<PairReader>(x, y, elements, workers, [&](const Block& at, const PairReader& pair) {
        const std::size_t count = at.count;
        if (detail) add_sample(at, pair, is_many, samples[at.worker]);
        FirstPass& pass = first[at.part];
        const PairSums block = add_block(kernels, pair, count, is_many);
        if (block.max_absolute > pass.absolute.value && max_absolute.reaches(block.max_absolute)) {
          max_absolute.raise(block.max_absolute);
          pass.absolute = find(block.max_absolute, absolute_error, pair.x(), pair.y(), count, at.first);
        }
        if (block.max_relative > pass.relative.value && max_relative.reaches(block.max_relative)) {
          max_relative.raise(block.max_relative);
          pass.relative = find(block.max_relative, relative_error, pair.x(), pair.y(), count, at.first);
        }
        pass.sums.add(block);
        if (add_exact != nullptr) {
          add_exact(pair.x_bytes(), pair.y_bytes(), count, pass.exact);
        } else if (same_dtype && x.dtype == DType::float64) {
          add_exact_float64(pair.x_bytes(), pair.y_bytes(), count, pass);
        } else if (same_dtype && x.item_bits % 8 == 0) {
          pass.exact.equal += count_equal(pair.x_bytes(), pair.y_bytes(), count, x.item_bits);
        } else {
          pass.exact.equal += count_equal(pair.x(), pair.y(), count);
        }
      });
  if (!read) return std::nullopt;
  FirstPass all;
  for (const FirstPass& pass : first) {
    all.sums.add(pass.sums);
    all.exact.add(pass.exact);
    all.max_ulp64 = std::max(all.max_ulp64, pass.max_ulp64);
    if (pass.absolute.value > all.absolute.value) all.absolute = pass.absolute;
    if (pass.relative.value > all.relative.value) all.relative = pass.relative;
  }
  const double count = static_cast<double>(elements);
  compare_first(all, count, result);
  result.equal = all.exact.equal;
  if (add_exact != nullptr) result.max_ulp = all.exact.max_ulp;
  if (same_dtype && x.dtype == DType::float64) result.max_ulp = all.max_ulp64;
  if (elements == 0) {
    result.max_absolute_error = result.max_relative_error = result.kullback_leibler_divergence = kNan;
    result.x_deviation = result.y_deviation = kNan;
    return result;
  }

  facts.all_finite = std::isfinite(all.sums.absolute);
  facts.is_tiny = std::max(-all.sums.x_min, all.sums.x_max) < static_cast<float>(kTiny) ||
                  std::max(-all.sums.y_min, all.sums.y_max) < static_cast<float>(kTiny);

  const bool diverges = std::isfinite(all.sums.x) && std::isfinite(all.sums.y);
  const bool deviates =
      squares_cancel(all.sums.x, all.sums.xx, count) || squares_cancel(all.sums.y, all.sums.yy, count);
  // Equal arrays have equal shares.
  const bool differs = diverges && !(all.sums.absolute == 0);
  const ShareOf p_of = ShareOf::range(all.sums.x_min, all.sums.x_max);
  const ShareOf q_of = ShareOf::range(all.sums.y_min, all.sums.y_max);
  const bool looks_closer = detail && facts.all_finite && result.equal != elements;
  SecondPass second;
  if (differs || deviates || looks_closer) {
    std::vector<SecondPass> passes(parts);
    std::vector<DetailLook> looks;
    if (looks_closer) {
      for (std::size_t i = 1; i < samples.size(); ++i) samples[0].add(samples[i]);
      looks.assign(workers, DetailLook(kernels, samples[0].places()));
    }
    const auto look = [&](const Block& at, const PairReader& pair) {
      looks[at.worker].add(pair.x(), pair.y(), at.count);
    };
    const bool again =
        for_each_block<PairReader>(x, y, elements, workers, [&](const Block& at, const PairReader& pair) {
          SecondPass block;
          if (differs) kernels.add_divergence(pair.x(), pair.y(), at.count, p_of, q_of, block.divergence);
          if (deviates) {
            kernels.add_deviation(pair.x(), pair.y(), at.count, result.x_mean, result.y_mean,
                                  block.deviation);
          }
          passes[at.part].divergence.add(block.divergence);
          passes[at.part].deviation.add(block.deviation);
          if (looks_closer) looks[at.worker].add(pair.x(), pair.y(), at.count);
        });
    if (!again) return std::nullopt;
    for (const SecondPass& pass : passes) {
      second.divergence.add(pass.divergence);
      second.deviation.add(pass.deviation);
    }
    if (looks_closer) {
      result.detail = end_of(looks);
      if (!result.detail) {
        looks.assign(workers, DetailLook(kernels, {}));
        if (!for_each_block<PairReader>(x, y, elements, workers, look)) return std::nullopt;
        result.detail = end_of(looks);
      }
      result.detail->golden_peak = static_cast<double>(std::max(-all.sums.y_min, all.sums.y_max));
    }
  }
  if (!diverges) {
    result.kullback_leibler_divergence = kNan;
  } else if (differs) {
    const DivergenceSums& sums = second.divergence;
    const double divergence = sums.p_ln_ratio / sums.p + std::log(sums.q / sums.p);
    result.kullback_leibler_divergence = std::fabs(divergence) < kZero ? 0 : divergence;
  }
  if (deviates) {
    result.x_deviation = std::sqrt(second.deviation.x / count);
    result.y_deviation = std::sqrt(second.deviation.y / count);
  } else {
    result.x_deviation = deviation_from_squares(all.sums.x, all.sums.xx, count);
    result.y_deviation = deviation_from_squares(all.sums.y, all.sums.yy, count);
  }
  return result;
}

}  // namespace

std::optional<Comparison> compare(const ComparedArray& x, const ComparedArray& y, std::uint64_t elements,
                                  unsigned threads, Closer closer, const PairKernels& kernels) {
  const std::size_t workers = worker_count(elements, threads);
  const bool floats_do = x.to_pairs == nullptr && y.to_pairs == nullptr;
  FloatFacts facts;
  std::optional<Comparison> result =
      compare_floats(x, y, elements, workers, floats_do && closer == Closer::always, kernels, facts);
  if (!result || elements == 0) return result;
  const bool is_equal = result->equal == elements && (floats_do || x.dtype == y.dtype);
  const bool suffices = facts.all_finite && (is_equal || (floats_do && !facts.is_tiny));
  if (!suffices && !compare_exactly(x, y, elements, workers, closer, kernels, *result)) return std::nullopt;
  if (closer != Closer::never && result->equal == elements && !result->detail) result->detail.emplace();
  return result;
}

}  // namespace opdump::compare
