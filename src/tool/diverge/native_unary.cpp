#include <algorithm>
#include <cmath>
#include <limits>

#include "src/tool/diverge/native_ops.hpp"

namespace opdump::tool {
namespace native_unary {
namespace {

/// `f(element)` of a float tensor.
template <class F>
bool each(NativeCall& call, F f) {
  std::vector<double> values;
  if (!is_float_dtype(call.input(0).dtype)) return call.refuse("its input holds no floats");
  if (!call.reals(0, values)) return false;
  std::transform(values.begin(), values.end(), values.begin(), f);
  call.give_reals(0, call.input(0).dims, values);
  return true;
}

template <double (*kFunction)(double)>
bool each_of(NativeCall& call) {
  return each(call, kFunction);
}

/// The same for tensors of integers too, with a function for each kind.
template <class F, class G>
bool each_number(NativeCall& call, F real, G integer) {
  if (!is_integer_dtype(call.input(0).dtype)) return each(call, real);
  std::vector<std::int64_t> values = integers_of(call.input(0));
  std::transform(values.begin(), values.end(), values.begin(), integer);
  call.give_integers(0, call.input(0).dtype, call.input(0).dims, values);
  return true;
}

template <class F>
bool each_to_bool(NativeCall& call, F f) {
  std::vector<double> values;
  if (!call.reals(0, values)) return false;
  std::vector<std::int64_t> answers(values.size());
  std::transform(values.begin(), values.end(), answers.begin(), [&](double x) { return f(x) ? 1 : 0; });
  call.give_integers(0, DType::boolean, call.input(0).dims, answers);
  return true;
}

bool is_uint64(const NativeCall& call) {
  return call.input(0).dtype == DType::uint64;
}

/// NaN stays.
double positive_part(double x) {
  return x < 0 ? 0 : x;
}

bool relu(NativeCall& call) {
  const bool is_signed = !is_uint64(call);
  return each_number(call, positive_part,
                     [=](std::int64_t x) { return is_signed ? std::max<std::int64_t>(x, 0) : x; });
}

bool absolute(NativeCall& call) {
  const bool is_signed = !is_uint64(call);
  return each_number(
      call, [](double x) { return std::fabs(x); },
      [=](std::int64_t x) {
        return is_signed && x < 0 ? static_cast<std::int64_t>(0 - static_cast<std::uint64_t>(x)) : x;
      });
}

bool negative(NativeCall& call) {
  return each_number(
      call, [](double x) { return -x; },
      [](std::int64_t x) { return static_cast<std::int64_t>(0 - static_cast<std::uint64_t>(x)); });
}

bool sign(NativeCall& call) {
  const bool is_signed = !is_uint64(call);
  return each_number(
      call, [](double x) { return x > 0   ? 1.0
                                  : x < 0 ? -1.0
                                          : x; },
      [=](std::int64_t x) -> std::int64_t { return x == 0                ? 0
                                                   : x > 0 || !is_signed ? 1
                                                                         : -1; });
}

double reciprocal(double x) {
  return 1 / x;
}

double sigmoid_of(double x) {
  return x >= 0 ? 1 / (1 + std::exp(-x)) : std::exp(x) / (1 + std::exp(x));
}

double softplus_of(double x) {
  return x > 0 ? x + std::log1p(std::exp(-x)) : std::log1p(std::exp(x));
}

double softsign(double x) {
  return x / (1 + std::fabs(x));
}

double mish(double x) {
  return x * std::tanh(softplus_of(x));
}

double hard_swish(double x) {
  return x * std::clamp(x / 6 + 0.5, 0.0, 1.0);
}

bool leaky_relu(NativeCall& call) {
  const double alpha = call.real("alpha", 0.01);
  return each(call, [=](double x) { return x < 0 ? alpha * x : x; });
}

bool elu(NativeCall& call) {
  const double alpha = call.real("alpha", 1);
  return each(call, [=](double x) { return x < 0 ? alpha * std::expm1(x) : x; });
}

bool celu(NativeCall& call) {
  const double alpha = call.real("alpha", 1);
  return each(call, [=](double x) { return x < 0 ? alpha * std::expm1(x / alpha) : x; });
}

bool selu(NativeCall& call) {
  const double alpha = call.real("alpha", 1.67326319217681884765625);
  const double gamma = call.real("gamma", 1.05070102214813232421875);
  return each(call, [=](double x) { return gamma * (x < 0 ? alpha * std::expm1(x) : x); });
}

bool thresholded_relu(NativeCall& call) {
  const double alpha = call.real("alpha", 1);
  return each(call, [=](double x) { return x > alpha ? x : std::isnan(x) ? x : 0; });
}

bool hard_sigmoid(NativeCall& call) {
  const double alpha = call.real("alpha", 0.2), beta = call.real("beta", 0.5);
  return each(call, [=](double x) { return std::clamp(alpha * x + beta, 0.0, 1.0); });
}

bool shrink(NativeCall& call) {
  const double lambd = call.real("lambd", 0.5), bias = call.real("bias", 0);
  return each(call, [=](double x) { return x < -lambd ? x + bias : x > lambd ? x - bias : 0; });
}

bool gelu(NativeCall& call) {
  const std::string approximation = call.text("approximate", "none");
  if (approximation == "tanh")
    return each(call, [](double x) {
      return 0.5 * x * (1 + std::tanh(0.7978845608028654 * (x + 0.044715 * x * x * x)));
    });
  if (approximation != "none") return call.refuse("approximate is '" + approximation + "'");
  return each(call, [](double x) { return 0.5 * x * (1 + std::erf(x * 0.7071067811865476)); });
}

bool swish(NativeCall& call) {
  const double alpha = call.real("alpha", 1);
  return each(call, [=](double x) { return x * sigmoid_of(alpha * x); });
}

/// A limit of Clip: since opset 11 an input, before it an attribute.
bool clip_limit(NativeCall& call, std::size_t input, std::string_view attribute, double& limit) {
  if (call.opset() < 11) {
    limit = call.real(attribute, limit);
    return true;
  }
  if (!call.has(input)) return true;
  std::vector<double> values;
  if (!call.reals(input, values)) return false;
  if (values.size() != 1) return call.refuse("its limit has " + std::to_string(values.size()) + " elements");
  limit = values[0];
  return true;
}

bool clip(NativeCall& call) {
  double least = -std::numeric_limits<double>::infinity(), most = -least;
  if (!clip_limit(call, 1, "min", least) || !clip_limit(call, 2, "max", most)) return false;
  const auto real = [=](double x) { return std::isnan(x) ? x : std::min(std::max(x, least), most); };
  if (info(call.input(0).dtype).bits == 64 && is_integer_dtype(call.input(0).dtype)) {
    if (is_uint64(call)) return call.refuse("uint64 is not clipped");
    for (std::size_t i = 1; i <= 2; ++i) {
      if (call.has(i) && call.input(i).dtype != call.input(0).dtype)
        return call.refuse("its inputs have several dtypes");
    }
    std::vector<std::int64_t> values = integers_of(call.input(0));
    const std::int64_t limits[] = {
        call.has(1) ? integers_of(call.input(1))[0] : std::numeric_limits<std::int64_t>::min(),
        call.has(2) ? integers_of(call.input(2))[0] : std::numeric_limits<std::int64_t>::max()};
    for (std::int64_t& x : values) x = std::min(std::max(x, limits[0]), limits[1]);
    call.give_integers(0, call.input(0).dtype, call.input(0).dims, values);
    return true;
  }
  return each_number(call, real,
                     [&](std::int64_t x) { return static_cast<std::int64_t>(real(static_cast<double>(x))); });
}

bool logical_not(NativeCall& call) {
  return each_to_bool(call, [](double x) { return x == 0; });
}

bool is_nan(NativeCall& call) {
  return each_to_bool(call, [](double x) { return std::isnan(x); });
}

bool is_inf(NativeCall& call) {
  const bool low = call.integer("detect_negative", 1) != 0, high = call.integer("detect_positive", 1) != 0;
  return each_to_bool(call, [=](double x) { return std::isinf(x) && (x < 0 ? low : high); });
}

/// Floats are cut off towards zero. One that the integer cannot hold may become anything.
bool cast_to_integer(NativeCall& call, DType to) {
  std::vector<double> reals;
  if (!call.reals(0, reals)) return false;
  std::vector<std::int64_t> values(reals.size());
  const bool wide = info(to).bits == 64;
  const double least = to == DType::uint64 ? 0 : wide ? -0x1p63 : range_of(to).least;
  const double end = to == DType::uint64 ? 0x1p64 : wide ? 0x1p63 : range_of(to).most + 1;
  for (std::size_t i = 0; i < reals.size(); ++i) {
    if (to == DType::boolean) {
      values[i] = reals[i] != 0 ? 1 : 0;
      continue;
    }
    const double whole = std::trunc(reals[i]);
    if (!(whole >= least && whole < end))
      return call.refuse("it casts a number that " + std::string(info(to).name) + " cannot hold");
    values[i] = whole >= 0x1p63 ? static_cast<std::int64_t>(static_cast<std::uint64_t>(whole))
                                : static_cast<std::int64_t>(whole);
  }
  call.give_integers(0, to, call.input(0).dims, values);
  return true;
}

bool cast(NativeCall& call) {
  const DType from = call.input(0).dtype, to = call.wanted_dtype(0);
  const bool narrow = is_float_dtype(to) && info(to).bits == 8;
  if ((!is_float_dtype(to) && !is_integer_dtype(to)) || narrow)
    return call.refuse("casts to " + std::string(info(to).name) + " are not computed");
  if (is_integer_dtype(to) && is_integer_dtype(from)) {
    call.give_integers(0, to, call.input(0).dims, integers_of(call.input(0)));
    return true;
  }
  if (is_integer_dtype(to)) return cast_to_integer(call, to);
  std::vector<double> values;
  if (!call.reals(0, values)) return false;
  if (from == DType::uint64) {
    const std::vector<std::int64_t> whole = integers_of(call.input(0));
    for (std::size_t i = 0; i < whole.size(); ++i)
      values[i] = static_cast<double>(static_cast<std::uint64_t>(whole[i]));
  }
  call.give_reals(0, call.input(0).dims, values);
  return true;
}

constexpr NativeOp kOps[] = {
    {"Abs", absolute},
    {"Acos", each_of<std::acos>},
    {"Acosh", each_of<std::acosh>},
    {"Asin", each_of<std::asin>},
    {"Asinh", each_of<std::asinh>},
    {"Atan", each_of<std::atan>},
    {"Atanh", each_of<std::atanh>},
    {"Cast", cast, 1, " to saturate "},
    {"CastLike", cast, 2, " saturate "},
    {"Ceil", each_of<std::ceil>},
    {"Celu", celu, 1, " alpha "},
    {"Clip", clip, 1, " min max ", 6},
    {"Cos", each_of<std::cos>},
    {"Cosh", each_of<std::cosh>},
    {"Elu", elu, 1, " alpha "},
    {"Erf", each_of<std::erf>},
    {"Exp", each_of<std::exp>},
    {"Floor", each_of<std::floor>},
    {"Gelu", gelu, 1, " approximate "},
    {"HardSigmoid", hard_sigmoid, 1, " alpha beta "},
    {"HardSwish", each_of<hard_swish>},
    {"IsInf", is_inf, 1, " detect_negative detect_positive "},
    {"IsNaN", is_nan},
    {"LeakyRelu", leaky_relu, 1, " alpha "},
    {"Log", each_of<std::log>},
    {"Mish", each_of<mish>},
    {"Neg", negative},
    {"Not", logical_not},
    {"Reciprocal", each_of<reciprocal>},
    {"Relu", relu},
    {"Round", each_of<std::nearbyint>},
    {"Selu", selu, 1, " alpha gamma ", 6},
    {"Shrink", shrink, 1, " bias lambd "},
    {"Sigmoid", each_of<sigmoid_of>},
    {"Sign", sign},
    {"Sin", each_of<std::sin>},
    {"Sinh", each_of<std::sinh>},
    {"Softplus", each_of<softplus_of>},
    {"Softsign", each_of<softsign>},
    {"Sqrt", each_of<std::sqrt>},
    {"Swish", swish, 1, " alpha "},
    {"Tan", each_of<std::tan>},
    {"Tanh", each_of<std::tanh>},
    {"ThresholdedRelu", thresholded_relu, 1, " alpha "},
};

}  // namespace
}  // namespace native_unary

std::span<const NativeOp> unary_ops() {
  return native_unary::kOps;
}

}  // namespace opdump::tool
