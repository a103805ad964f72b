#include <algorithm>
#include <cmath>

#include "src/tool/diverge/native_kernels.hpp"
#include "src/tool/diverge/native_ops.hpp"

namespace opdump::tool {
namespace native_quantising {
namespace {

/// Scales or zero points: one, or one for each index of an axis.
struct Parameters {
  std::vector<double> values{0};
  std::size_t inner = 1;  ///< elements between one index of the axis and the next

  double at(std::size_t element) const {
    return values[values.size() == 1 ? 0 : element / inner % values.size()];
  }
};

/// An input of parameters for a tensor of `dims`; left as it is where the input is not there.
bool take_parameters(NativeCall& call, std::size_t input, Shape dims, std::int64_t axis, Parameters& to) {
  if (!call.has(input)) return true;
  if (!call.reals(input, to.values)) return false;
  if (to.values.size() == 1) return true;
  std::size_t place = 0;
  if (!call.axis(axis, dims.size(), place)) return false;
  to.inner = product(dims, place + 1, dims.size());
  return (call.input(input).dims.size() == 1 && to.values.size() == dims[place]) ||
         call.refuse("input " + std::to_string(input) +
                     " has not one number, or one for each index of the axis");
}

/// Rounded to the nearest, of two the even one, and saturated.
std::int64_t quantised(double scaled, double zero_point, DType dtype) {
  const IntegerRange range = range_of(dtype);
  return static_cast<std::int64_t>(std::clamp(std::nearbyint(scaled) + zero_point, range.least, range.most));
}

/// Whether the dtype is one of quantised tensors with elements of their own.
bool is_quantised_dtype(NativeCall& call, DType dtype) {
  const bool known = is_integer_dtype(dtype) && dtype != DType::boolean && info(dtype).bits <= 16;
  return known || call.refuse("quantising to " + std::string(info(dtype).name) + " is not computed");
}

bool quantize_linear(NativeCall& call) {
  Reals x;
  Parameters scale, zero_point;
  const DType to = call.has(2) ? call.input(2).dtype : call.wanted_dtype(0);
  const std::int64_t axis = call.integer("axis", 1);
  if (call.integer("block_size", 0) != 0) return call.refuse("it quantises blocks");
  if (!is_quantised_dtype(call, to) || !take(call, 0, x) || !take_parameters(call, 1, x.dims, axis, scale) ||
      !take_parameters(call, 2, x.dims, axis, zero_point))
    return false;
  std::vector<std::int64_t> made(x.values.size());
  for (std::size_t i = 0; i < made.size(); ++i) {
    // The quotient is a float32, which decides where it is rounded to.
    const double scaled = static_cast<double>(static_cast<float>(x.values[i] / scale.at(i)));
    if (std::isnan(scaled)) return call.refuse("it quantises NaN");
    made[i] = quantised(scaled, zero_point.at(i), to);
  }
  call.give_integers(0, to, x.dims, made);
  return true;
}

bool dequantize_linear(NativeCall& call) {
  Reals x;
  Parameters scale, zero_point;
  const std::int64_t axis = call.integer("axis", 1);
  if (call.integer("block_size", 0) != 0) return call.refuse("its scales are those of blocks");
  if (!take(call, 0, x) || !take_parameters(call, 1, x.dims, axis, scale) ||
      !take_parameters(call, 2, x.dims, axis, zero_point))
    return false;
  for (std::size_t i = 0; i < x.values.size(); ++i)
    x.values[i] = (x.values[i] - zero_point.at(i)) * scale.at(i);
  call.give_reals(0, x.dims, x.values);
  return true;
}

bool dynamic_quantize_linear(NativeCall& call) {
  Reals x;
  if (!take(call, 0, x)) return false;
  double least = 0, most = 0;
  for (const double value : x.values) {
    least = std::min(least, value);
    most = std::max(most, value);
  }
  const auto scale = static_cast<double>(static_cast<float>((most - least) / 255));
  const double zero_point = scale == 0 ? 0 : std::clamp(std::nearbyint(-least / scale), 0.0, 255.0);
  std::vector<std::int64_t> made(x.values.size());
  for (std::size_t i = 0; i < made.size() && scale != 0; ++i) {
    made[i] =
        quantised(static_cast<double>(static_cast<float>(x.values[i] / scale)), zero_point, DType::uint8);
  }
  call.give_integers(0, DType::uint8, x.dims, made);
  call.give_reals(1, {}, {scale});
  call.give_integers(2, DType::uint8, {}, {static_cast<std::int64_t>(zero_point)});
  return true;
}

/// Reads an input of integers and takes its zero point off, which is input `zero`.
bool take_centred(NativeCall& call, std::size_t input, std::size_t zero, std::int64_t axis, Reals& to) {
  Parameters zero_point;
  if (!take(call, input, to) || !take_parameters(call, zero, to.dims, axis, zero_point)) return false;
  for (std::size_t i = 0; i < to.values.size(); ++i) to.values[i] -= zero_point.at(i);
  return true;
}

void give_int32(NativeCall& call, const Reals& made) {
  std::vector<std::int64_t> whole(made.values.size());
  std::transform(made.values.begin(), made.values.end(), whole.begin(),
                 [](double x) { return static_cast<std::int64_t>(x); });
  call.give_integers(0, DType::int32, made.dims, whole);
}

/// Multiplies sums of integers by `scale.at(i) * factor`, which takes them to the output's scale.
bool give_requantised(NativeCall& call, const Reals& sums, const Parameters& scale, double factor,
                      std::size_t scale_input) {
  Parameters out_scale, zero_point;
  const DType to = call.input(scale_input + 1).dtype;
  if (!is_quantised_dtype(call, to) || !take_parameters(call, scale_input, sums.dims, 0, out_scale) ||
      !take_parameters(call, scale_input + 1, sums.dims, 0, zero_point))
    return false;
  std::vector<std::int64_t> made(sums.values.size());
  for (std::size_t i = 0; i < made.size(); ++i) {
    made[i] = quantised(sums.values[i] * scale.at(i) * factor / out_scale.at(i), zero_point.at(i), to);
  }
  call.give_integers(0, to, sums.dims, made);
  return true;
}

bool one_scale(NativeCall& call, std::size_t input, double& scale) {
  std::vector<double> values;
  if (!call.reals(input, values)) return false;
  if (values.size() != 1) return call.refuse("input " + std::to_string(input) + " has several scales");
  scale = values[0];
  return true;
}

bool matmul_integer(NativeCall& call) {
  Reals a, b, made;
  if (!take_centred(call, 0, 2, -2, a) || !take_centred(call, 1, 3, -1, b) || !multiply(call, a, b, made))
    return false;
  give_int32(call, made);
  return true;
}

bool conv_integer(NativeCall& call) {
  Reals x, w, made;
  if (!take_centred(call, 0, 2, 0, x) || !take_centred(call, 1, 3, 0, w) || !convolve(call, x, w, made))
    return false;
  give_int32(call, made);
  return true;
}

bool qlinear_matmul(NativeCall& call) {
  Reals a, b, made;
  double a_scale = 0;
  if (!take_centred(call, 0, 2, -2, a) || !take_centred(call, 3, 5, -1, b) || !multiply(call, a, b, made) ||
      !one_scale(call, 1, a_scale))
    return false;
  Parameters b_scale;
  return take_parameters(call, 4, made.dims, -1, b_scale) &&
         give_requantised(call, made, b_scale, a_scale, 6);
}

bool qlinear_conv(NativeCall& call) {
  Reals x, w, made;
  double x_scale = 0;
  if (!take_centred(call, 0, 2, 1, x) || !take_centred(call, 3, 5, 0, w) || !convolve(call, x, w, made) ||
      !one_scale(call, 1, x_scale))
    return false;
  if (call.has(8)) {
    std::vector<double> bias;
    if (!call.reals(8, bias)) return false;
    const auto channels = static_cast<std::size_t>(made.dims[1]);
    const std::size_t plane = product(made.dims, 2, made.dims.size());
    if (bias.size() != channels) return call.refuse("its bias has not one number for each channel");
    for (std::size_t i = 0; i < made.values.size(); ++i) made.values[i] += bias[i / plane % channels];
  }
  Parameters w_scale;
  return take_parameters(call, 4, made.dims, 1, w_scale) && give_requantised(call, made, w_scale, x_scale, 6);
}

constexpr std::string_view kConvAttributes = " auto_pad dilations group kernel_shape pads strides ";

constexpr NativeOp kOps[] = {
    {"ConvInteger", conv_integer, 2, kConvAttributes},
    {"DequantizeLinear", dequantize_linear, 2, " axis block_size output_dtype "},
    {"DynamicQuantizeLinear", dynamic_quantize_linear},
    {"MatMulInteger", matmul_integer, 2},
    {"QLinearConv", qlinear_conv, 8, kConvAttributes},
    {"QLinearMatMul", qlinear_matmul, 8},
    {"QuantizeLinear", quantize_linear, 2, " axis block_size output_dtype precision saturate "},
};

}  // namespace
}  // namespace native_quantising

std::span<const NativeOp> quantising_ops() {
  return native_quantising::kOps;
}

}  // namespace opdump::tool
