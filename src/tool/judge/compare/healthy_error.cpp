#include "src/tool/judge/compare/healthy_error.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "opdump/impl/stats/non_finite.hpp"
#include "src/tool/judge/compare/msprobe_dump.hpp"
#include "src/tool/judge/compare/op_types.hpp"
#include "src/tool/read/dump/elements.hpp"

namespace opdump::tool {

namespace {

/// Half of the last place, relative; 0: no floating dtype.
double half_ulp_of(DType dtype) {
  switch (dtype) {
    case DType::float64:
      return 0x1p-53;
    case DType::float32:
      return 0x1p-24;
    case DType::float16:
      return 0x1p-11;
    case DType::bfloat16:
      return 0x1p-8;
    default:
      return is_complex(dtype) ? 0x1p-11 : can_be_non_finite(dtype) ? 0x1p-2 : 0;
  }
}

/// The greatest number of a floating dtype that others are rounded to; infinite: not known.
double greatest_of(DType dtype) {
  if (dtype == DType::float16) return 65504;
  if (dtype == DType::bfloat16) return 0x1.FEp127;
  return dtype == DType::float32 ? 0x1.FFFFFEp127 : HUGE_VAL;
}

/// The greatest step of integers that stand for real numbers; 0: not known.
double step_of(const Quantisation& quant) {
  double step = 0;
  for (const float scale : quant.scales) step = std::max(step, std::fabs(static_cast<double>(scale)));
  for (const std::int32_t exponent : quant.exponents) step = std::max(step, std::ldexp(1.0, exponent));
  return step;
}

bool is_narrow(DType dtype) {
  return dtype != DType::boolean && info(dtype).bits <= 16;
}

/// What rounding to the dtype of one side adds, relative to golden's size.
double step_error(const DumpTensor& tensor, double golden_rms) {
  constexpr double kBlocks = 0.06;
  const double subnormal = tensor.dtype == DType::float16 && golden_rms > 0 ? 0x1p-25 / golden_rms : 0;
  if (half_ulp_of(tensor.dtype) > 0) return half_ulp_of(tensor.dtype) + subnormal;
  if (tensor.quant == nullptr) return is_narrow(tensor.dtype) && golden_rms > 0 ? 1 / golden_rms : 0;
  const double step = step_of(*tensor.quant);
  if (step == 0) return kBlocks;
  return golden_rms > 0 ? step / golden_rms : HUGE_VAL;
}

// Canonical types: those that change no element by more than one of an input, and those that weigh what they read.
constexpr std::string_view kSingle = "add concat gather pad pool relu reshape slice split sub tanh transpose";
constexpr std::string_view kWeighing = "batchnorm conv matmul mul";

}  // namespace

bool is_equal(const PairResult& result) {
  return result.comparison->equal == result.comparison->elements ||
         result.comparison->summary_distance == 0.0;
}

TensorError error_of(const PairResult& result) {
  const compare::Comparison& c = *result.comparison;
  TensorError error;
  error.golden_rms = std::hypot(c.y_mean, c.y_deviation);
  error.golden_deviation = c.y_deviation;
  if (is_equal(result)) return error;
  error.all = c.summary_distance.value_or(c.relative_euclidean_distance);
  if (std::isnan(error.all)) error.all = HUGE_VAL;
  error.rms = c.root_mean_square_error;
  error.most = c.max_absolute_error;
  error.elements = static_cast<double>(c.elements);
  error.offset = std::fabs(c.x_mean - c.y_mean);
  if (c.max_absolute_at && error.golden_rms > 0)
    error.peak = error.most / std::max(std::fabs(c.y_at_max), error.golden_rms);
  return error;
}

bool shows_single_elements(std::string_view type, const TensorError& input) {
  constexpr double kSpread = 8, kSpreadUnits = 16;
  const std::string canonical = canonical_type(type);
  const bool spread = input.peak <= kSpread * input.all && input.most <= kSpreadUnits * input.rms;
  return has_word(kSingle, canonical) || (spread && has_word(kWeighing, canonical));
}

TensorError explained_by(const TensorError& input, const TensorError& output, PassesErrors passes) {
  constexpr double kMostCancelled = 100;
  TensorError explained = input;
  if (input.all == 0) return explained;
  if (passes == PassesErrors::without_bound) {
    explained.all = explained.peak = HUGE_VAL;
    return explained;
  }
  // What all elements have in common may cancel out.
  if (input.golden_deviation > 0)
    explained.all =
        std::max(input.all, std::min(input.rms / input.golden_deviation, kMostCancelled * input.all));
  if (passes == PassesErrors::by_unit && output.golden_rms > 0) {
    explained.all = std::max(explained.all, input.rms / output.golden_rms);
    explained.peak = std::max(explained.peak, input.most / output.golden_rms);
  }
  // Weights of one sign add up what all elements are off by alike, where the signal cancels out.
  if (passes == PassesErrors::by_size && input.rms > 0) {
    // Of few elements, chance has as much in common.
    const double chance = 3 / std::sqrt(std::max(1.0, input.elements));
    const double alike = std::clamp(input.offset / input.rms - chance, 0.0, 1.0) * kMostCancelled;
    explained.all = std::max(explained.all, alike * input.all);
    explained.peak = std::max(explained.peak, alike * input.all);
  }
  if (passes == PassesErrors::by_exponent) explained.all = std::max(explained.all, std::expm1(input.most));
  if (std::isnan(explained.all)) explained.all = HUGE_VAL;
  return explained;
}

double healthy_error(const PairResult& output, const DumpTensor& mine, const DumpTensor& golden,
                     std::uint64_t terms, double size) {
  constexpr double kSpread = 4;  // of sums of as many roundings, by their deviation
  constexpr double kMost = 0.05;
  const double golden_rms = error_of(output).golden_rms;
  const double cancelled = golden_rms > 0 ? std::max(1.0, size / golden_rms) : size > 0 ? HUGE_VAL : 1;
  double healthy = 0;
  for (const DumpTensor* const tensor : {&mine, &golden}) {
    const double rounding = half_ulp_of(tensor->dtype);
    const double sum = kSpread * rounding * std::sqrt(static_cast<double>(terms) + 1);
    healthy =
        std::max(healthy, rounding > 0 ? std::min(kMost, sum) * cancelled : step_error(*tensor, golden_rms));
  }
  return healthy;
}

bool is_rounded(const PairResult& constant, const DumpSide& mine, const DumpSide& golden) {
  constexpr std::uint64_t kMost = std::uint64_t{1} << 24;
  const DumpTensor ours = mine.tensors[*constant.pair.mine], theirs = golden.tensors[*constant.pair.golden];
  const TensorError error = error_of(constant);
  const double step = 2 * std::max(step_error(ours, error.golden_rms), step_error(theirs, error.golden_rms));
  if (error.all <= step) return true;
  const double end = std::min(greatest_of(ours.dtype), greatest_of(theirs.dtype));
  if (greatest_of(ours.dtype) == greatest_of(theirs.dtype) || ours.elements > kMost) return false;
  std::vector<double> numbers;
  numbers.reserve(static_cast<std::size_t>(ours.elements));
  const auto keep = [&](std::span<const double> some) {
    numbers.insert(numbers.end(), some.begin(), some.end());
  };
  std::size_t at = 0;
  bool rounded = true;
  const bool read =
      for_each_number(mine, ours, keep) && for_each_number(golden, theirs, [&](std::span<const double> some) {
        for (const double number : some) {
          const double x = std::clamp(numbers[std::min(at++, numbers.size() - 1)], -end, end);
          const double y = std::clamp(number, -end, end);
          rounded &= std::fabs(x - y) <= 2 * step * std::fabs(y);
        }
      });
  return read && rounded && at == numbers.size();
}

}  // namespace opdump::tool
