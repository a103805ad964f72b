#include "src/tool/judge/compare/healthy_error.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include "opdump/impl/stats/non_finite.hpp"
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

// Canonical types.
constexpr std::string_view kBySize = "batchnorm conv convtranspose dequantize layernorm matmul mul rmsnorm";
constexpr std::string_view kByExponent = "exp sigmoid silu softmax";
constexpr std::string_view kWithoutBound =
    "argmax argmin cast ceil div equal floor greater greaterorequal less lessorequal log lpnormalization mod "
    "nonmaxsuppression nonzero onehot pow reciprocal round rsqrt sign topk topkv2 where";
// Those that change no element by more than one of an input, and those that weigh what they read.
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
  if (c.max_absolute_at && error.golden_rms > 0)
    error.peak = error.most / std::max(std::fabs(c.y_at_max), error.golden_rms);
  return error;
}

PassesErrors passes_errors(std::string_view type) {
  const std::string canonical = canonical_type(type);
  if (has_word(kBySize, canonical)) return PassesErrors::by_size;
  if (has_word(kByExponent, canonical)) return PassesErrors::by_exponent;
  return has_word(kWithoutBound, canonical) ? PassesErrors::without_bound : PassesErrors::by_unit;
}

bool sums_channels(std::string_view type) {
  return has_word("conv convtranspose matmul", canonical_type(type));
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
  if (passes == PassesErrors::without_bound) explained.all = explained.peak = HUGE_VAL;
  // What all elements have in common may cancel out.
  if (input.golden_deviation > 0)
    explained.all =
        std::max(input.all, std::min(input.rms / input.golden_deviation, kMostCancelled * input.all));
  if (passes == PassesErrors::by_unit && output.golden_rms > 0) {
    explained.all = std::max(explained.all, input.rms / output.golden_rms);
    explained.peak = std::max(explained.peak, input.most / output.golden_rms);
  }
  if (passes == PassesErrors::by_exponent) explained.all = std::max(explained.all, std::expm1(input.most));
  if (std::isnan(explained.all)) explained.all = HUGE_VAL;
  return explained;
}

double healthy_error(const PairResult& output, const DumpTensor& mine, const DumpTensor& golden,
                     std::uint64_t terms) {
  constexpr double kSpread = 4;  // of sums of as many roundings, by their deviation
  constexpr double kMost = 0.05;
  const double golden_rms = error_of(output).golden_rms;
  double healthy = 0;
  for (const DumpTensor* const tensor : {&mine, &golden}) {
    const double rounding = half_ulp_of(tensor->dtype);
    healthy = std::max(healthy, rounding > 0 ? std::min(kMost, kSpread * rounding *
                                                                   std::sqrt(static_cast<double>(terms) + 1))
                                             : step_error(*tensor, golden_rms));
  }
  return healthy;
}

bool is_rounded(const PairResult& constant, const DumpTensor& mine, const DumpTensor& golden) {
  const TensorError error = error_of(constant);
  return error.all <= 2 * std::max(step_error(mine, error.golden_rms), step_error(golden, error.golden_rms));
}

}  // namespace opdump::tool
