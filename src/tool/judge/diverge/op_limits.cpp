#include "src/tool/judge/diverge/op_limits.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <iterator>

#include "opdump/impl/stats/non_finite.hpp"
#include "src/tool/judge/compare/healthy_error.hpp"
#include "src/tool/judge/diverge/dumped_op.hpp"

namespace opdump::tool {
namespace {

constexpr std::string_view kExact =
    " Abs And ArgMax ArgMin BitShift Ceil Clip Compress Concat Constant ConstantOfShape DepthToSpace"
    " Dropout Equal Expand EyeLike Flatten Floor Gather GatherElements GatherND GlobalMaxPool Greater"
    " GreaterOrEqual Hardmax Identity IsInf IsNaN Less LessOrEqual Max MaxPool MaxUnpool Min Neg NonZero"
    " Not OneHot Or Pad Range ReduceMax ReduceMin Relu Reshape ReverseSequence Round ScatterElements"
    " ScatterND Shape Sign Size Slice SpaceToDepth Split Squeeze Tile TopK Transpose Trilu Unique"
    " Unsqueeze Where Xor ";

constexpr std::string_view kRounded =
    " Acos Acosh Add Asin Asinh Atan Atanh Cast CastLike Cos Cosh DequantizeLinear Div Erf Exp"
    " HardSigmoid HardSwish LeakyRelu Log Mod Mul PRelu Pow Reciprocal Shrink Sigmoid Sin Sinh Softsign"
    " Sqrt Sub Swish Tan Tanh ThresholdedRelu ";

/// They take off 1 from a number near it.
constexpr std::string_view kNearOne = " Celu Elu Gelu Mish Selu Softplus ";

bool is_quantising(std::string_view type) {
  return type.starts_with("QLinear") || type == "QuantizeLinear" || type == "DynamicQuantizeLinear";
}

/// The root mean square of its elements.
double tensor_size(const ReplayTensor& tensor) {
  return mean_square_root(reals_of(tensor).value_or(std::vector<double>()));
}

bool has_input(const ReplayOp& op, std::size_t input) {
  return input < op.inputs.size() && op.inputs[input];
}

std::size_t element_number(const ReplayTensor& tensor) {
  return elements_of(tensor.dims).value_or(0);
}

/// Of how many terms a sum is, and how large the sum of such terms is by the inputs alone.
struct Terms {
  double number = 1;
  double size = 0;
};

Terms terms_of(const ReplayOp& op, std::size_t elements) {
  Terms terms;
  if (!has_input(op, 0)) return terms;
  const ReplayTensor& x = *op.inputs[0];
  if (has_word(kNearOne, op.type)) return {2, 1};
  const bool is_matmul = op.type == "MatMul" || op.type == "Gemm";
  const bool is_conv = op.type == "Conv" || op.type == "ConvTranspose";
  if ((is_matmul || is_conv) && has_input(op, 1)) {
    const ReplayTensor& w = *op.inputs[1];
    if (is_conv && !w.dims.empty() && w.dims[0] != 0) {
      terms.number = static_cast<double>(element_number(w)) / static_cast<double>(w.dims[0]);
    } else if (!x.dims.empty()) {
      const auto* const turned = op.attribute<std::int64_t>("transA");
      terms.number = static_cast<double>(turned != nullptr && *turned != 0 ? x.dims.front() : x.dims.back());
    }
    terms.size = tensor_size(x) * tensor_size(w) * std::sqrt(terms.number);
    if (has_input(op, 2)) terms.size += tensor_size(*op.inputs[2]);
    return terms;
  }
  const double each =
      static_cast<double>(element_number(x)) / static_cast<double>(std::max<std::size_t>(elements, 1));
  if (op.type == "Sum" || op.type == "Mean") {
    terms.number = static_cast<double>(op.inputs.size());
    for (const std::optional<ReplayTensor>& input : op.inputs) terms.size += input ? tensor_size(*input) : 0;
  } else if (op.type.starts_with("Reduce") || op.type.ends_with("Pool") || op.type == "CumSum") {
    const auto* const kernel = op.attribute<std::vector<std::int64_t>>("kernel_shape");
    terms.number = each;
    if (op.type == "CumSum") terms.number = static_cast<double>(element_number(x));
    for (std::size_t i = 0; kernel != nullptr && i < kernel->size(); ++i)
      terms.number = (i == 0 ? 1 : terms.number) * static_cast<double>((*kernel)[i]);
    const bool is_sum = op.type == "ReduceSum" || op.type == "CumSum" || op.type == "ReduceL1";
    terms.size = op.type == "ReduceProd" || op.type == "ReduceSumSquare"
                     ? 0
                     : tensor_size(x) * (is_sum ? std::sqrt(std::max(terms.number, 1.0)) : 1);
  } else {
    for (const Dim dim : x.dims) terms.number = std::max(terms.number, static_cast<double>(dim));
    const bool is_affine = op.type.ends_with("Normalization") && has_input(op, 2);
    if (is_affine) terms.size = tensor_size(*op.inputs[1]) + tensor_size(*op.inputs[2]);
  }
  terms.number = std::max(terms.number, 1.0);
  return terms;
}

double relative_of(DType dtype, const OpLimits& limits) {
  switch (dtype) {
    case DType::float64:
      return limits.float64;
    case DType::float32:
      return limits.float32;
    case DType::float16:
      return limits.float16;
    case DType::bfloat16:
      return limits.bfloat16;
    default:
      return 0;
  }
}

/// Whether all inputs of floats have the same dtype as the output.
bool keeps_dtype(const ReplayOp& op, DType dtype) {
  return std::all_of(op.inputs.begin(), op.inputs.end(), [&](const std::optional<ReplayTensor>& input) {
    return !input || !can_be_non_finite(input->dtype) || input->dtype == dtype;
  });
}

}  // namespace

std::string_view to_string(OpClass op_class) {
  constexpr std::string_view kWords[] = {"exact", "rounded", "accumulated", "quantised"};
  return kWords[static_cast<std::size_t>(op_class)];
}

bool read_op_limits(std::string_view text, OpLimits& limits, std::string& error) {
  struct Name {
    std::string_view name;
    double OpLimits::*limit;
  };
  constexpr Name kNames[] = {
      {"float64", &OpLimits::float64},       {"float32", &OpLimits::float32},
      {"float16", &OpLimits::float16},       {"bfloat16", &OpLimits::bfloat16},
      {"accumulate", &OpLimits::accumulate}, {"steps", &OpLimits::steps},
      {"step_share", &OpLimits::step_share},
  };
  while (!text.empty()) {
    const std::string_view item = text.substr(0, text.find(','));
    text.remove_prefix(std::min(text.size(), item.size() + 1));
    const std::size_t sign = item.find('=');
    const auto* const found = std::find_if(std::begin(kNames), std::end(kNames), [&](const Name& name) {
      return name.name == item.substr(0, std::min(sign, item.size()));
    });
    if (found == std::end(kNames)) {
      error = "'" + std::string(item) +
              "' is no limit; there are float64, float32, float16, bfloat16, accumulate, "
              "steps and step_share, as in 'float16=0.002,steps=2'";
      return false;
    }
    const std::string number(sign == std::string_view::npos ? std::string_view() : item.substr(sign + 1));
    char* end = nullptr;
    const double value = std::strtod(number.c_str(), &end);
    if (number.empty() || *end != '\0' || !(value >= 0) || std::isinf(value)) {
      error = "limit '" + std::string(found->name) + "' takes a number, not '" + number + "'";
      return false;
    }
    limits.*found->limit = value;
  }
  return true;
}

OutputLimit limit_of(const ReplayOp& op, std::size_t i, DType dtype, std::size_t elements,
                     const OpLimits& limits) {
  OutputLimit limit;
  const bool is_onnx = op.domain.empty();
  if (is_integer_dtype(dtype)) {
    // A zero point that is worked out is rounded too.
    if (!is_quantising(op.type)) return limit;
    limit.op_class = OpClass::quantised;
    limit.steps = limits.steps;
    limit.step_share = limits.step_share;
    return limit;
  }
  if (relative_of(dtype, limits) == 0) return limit;
  if (is_onnx && has_word(kExact, op.type) && keeps_dtype(op, dtype)) return limit;
  // Elements below it lose digits as subnormal numbers, or are made 0 by devices.
  limit.absolute = dtype == DType::float64 ? 0x1p-60 : dtype == DType::float32 ? 0x1p-30 : 0x1p-16;
  limit.relative = relative_of(dtype, limits);
  limit.op_class = OpClass::rounded;
  if (is_onnx && (has_word(kRounded, op.type) || has_word(kExact, op.type) || is_quantising(op.type)))
    return limit;
  limit.op_class = OpClass::accumulated;
  const Terms terms = terms_of(op, elements);
  const double accumulate = dtype == DType::float64 ? limits.float64 : limits.accumulate;
  limit.of_scale = accumulate * std::sqrt(terms.number);
  limit.scale = i == 0 ? terms.size : 0;
  return limit;
}

}  // namespace opdump::tool
