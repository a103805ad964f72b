#include <cmath>

#include "src/tool/diverge/native_kernels.hpp"
#include "src/tool/diverge/native_ops.hpp"

namespace opdump::tool {
namespace native_normalising {
namespace {

constexpr double kUsualEpsilon = 1e-5;

/// A vector of `count` numbers.
bool take_vector(NativeCall& call, std::size_t input, std::size_t count, std::vector<double>& to) {
  if (!call.reals(input, to)) return false;
  return to.size() == count ||
         call.refuse("input " + std::to_string(input) + " has not " + std::to_string(count) + " elements");
}

bool batch_normalization(NativeCall& call) {
  Reals x;
  std::vector<double> scale, bias, mean, variance;
  if (call.integer("training_mode", 0) != 0 || call.is_wanted(1))
    return call.refuse("it is that of training");
  if (call.integer("spatial", 1) == 0) return call.refuse("it is not spatial");
  if (!take(call, 0, x)) return false;
  const std::size_t channels = x.dims.size() < 2 ? 1 : static_cast<std::size_t>(x.dims[1]);
  if (!take_vector(call, 1, channels, scale) || !take_vector(call, 2, channels, bias) ||
      !take_vector(call, 3, channels, mean) || !take_vector(call, 4, channels, variance))
    return false;
  const double epsilon = call.real("epsilon", kUsualEpsilon);
  const std::size_t plane = x.dims.size() < 2 ? 1 : product(x.dims, 2, x.dims.size());
  for (std::size_t i = 0; i < x.values.size(); ++i) {
    const std::size_t c = i / plane % channels;
    x.values[i] = (x.values[i] - mean[c]) / std::sqrt(variance[c] + epsilon) * scale[c] + bias[c];
  }
  call.give_reals(0, x.dims, x.values);
  return true;
}

/// Takes the mean off each run of `length` elements and divides by the deviation.
struct Standardised {
  std::vector<double> means, inverse_deviations;

  Standardised(std::size_t length, double epsilon, std::vector<double>& values) {
    for (std::size_t first = 0; length != 0 && first + length <= values.size(); first += length) {
      double mean = 0, variance = 0;
      for (std::size_t i = first; i < first + length; ++i) mean += values[i];
      mean /= static_cast<double>(length);
      for (std::size_t i = first; i < first + length; ++i)
        variance += (values[i] - mean) * (values[i] - mean);
      const double inverse = 1 / std::sqrt(variance / static_cast<double>(length) + epsilon);
      for (std::size_t i = first; i < first + length; ++i) values[i] = (values[i] - mean) * inverse;
      means.push_back(mean);
      inverse_deviations.push_back(inverse);
    }
  }
};

bool instance_normalization(NativeCall& call) {
  Reals x;
  std::vector<double> scale, bias;
  if (!take(call, 0, x)) return false;
  if (x.dims.size() < 3) return call.refuse("its input has less than 3 dims");
  const auto channels = static_cast<std::size_t>(x.dims[1]);
  if (!take_vector(call, 1, channels, scale) || !take_vector(call, 2, channels, bias)) return false;
  const std::size_t plane = product(x.dims, 2, x.dims.size());
  const Standardised standardised(plane, call.real("epsilon", kUsualEpsilon), x.values);
  for (std::size_t i = 0; i < x.values.size(); ++i) {
    const std::size_t c = i / plane % channels;
    x.values[i] = x.values[i] * scale[c] + bias[c];
  }
  call.give_reals(0, x.dims, x.values);
  return true;
}

bool layer_normalization(NativeCall& call) {
  Reals x;
  std::size_t axis = 0;
  std::vector<double> scale, bias;
  if (!take(call, 0, x) || !call.axis(call.integer("axis", -1), x.dims.size(), axis)) return false;
  const std::size_t length = product(x.dims, axis, x.dims.size());
  if (!take_vector(call, 1, length, scale) || (call.has(2) && !take_vector(call, 2, length, bias)))
    return false;
  const Standardised standardised(length, call.real("epsilon", kUsualEpsilon), x.values);
  for (std::size_t i = 0; i < x.values.size(); ++i)
    x.values[i] = x.values[i] * scale[i % length] + (bias.empty() ? 0 : bias[i % length]);
  std::vector<Dim> rows = x.dims;
  for (std::size_t d = axis; d < rows.size(); ++d) rows[d] = 1;
  if (call.is_wanted(1)) call.give_reals(1, rows, standardised.means);
  if (call.is_wanted(2)) call.give_reals(2, rows, standardised.inverse_deviations);
  call.give_reals(0, x.dims, x.values);
  return true;
}

bool lrn(NativeCall& call) {
  Reals x;
  const std::int64_t size = call.integer("size", 0);
  if (size < 1) return call.refuse("its size is missing");
  if (!take(call, 0, x)) return false;
  if (x.dims.size() < 3) return call.refuse("its input has less than 3 dims");
  const double alpha = call.real("alpha", 1e-4), beta = call.real("beta", 0.75), bias = call.real("bias", 1);
  const auto channels = static_cast<std::int64_t>(x.dims[1]);
  const std::size_t plane = product(x.dims, 2, x.dims.size());
  std::vector<double> made(x.values.size());
  for (std::size_t i = 0; i < made.size(); ++i) {
    const auto c = static_cast<std::int64_t>(i / plane) % channels;
    double squares = 0;
    for (std::int64_t k = std::max<std::int64_t>(0, c - (size - 1) / 2);
         k <= std::min(channels - 1, c + size / 2); ++k) {
      const double near =
          x.values[i + static_cast<std::size_t>(k) * plane - static_cast<std::size_t>(c) * plane];
      squares += near * near;
    }
    made[i] = x.values[i] / std::pow(bias + alpha / static_cast<double>(size) * squares, beta);
  }
  call.give_reals(0, x.dims, made);
  return true;
}

constexpr NativeOp kOps[] = {
    {"BatchNormalization", batch_normalization, 5, " epsilon momentum spatial training_mode ", 7},
    {"InstanceNormalization", instance_normalization, 3, " epsilon ", 6},
    {"LRN", lrn, 1, " alpha beta bias size "},
    {"LayerNormalization", layer_normalization, 2, " axis epsilon stash_type ", 17},
};

}  // namespace
}  // namespace native_normalising

std::span<const NativeOp> normalising_ops() {
  return native_normalising::kOps;
}

}  // namespace opdump::tool
