#include "src/tool/judge/diverge/output_error.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "opdump/impl/stats/non_finite.hpp"
#include "src/config/text/human_text.hpp"
#include "src/tool/judge/diverge/dumped_op.hpp"

namespace opdump::tool {
namespace {

std::vector<Dim> longer_dims(const std::vector<Dim>& dims) {
  std::vector<Dim> others = dims;
  std::erase(others, 1);
  return others;
}

/// The least magnitude that a dtype rounds to infinity.
double infinite_from(DType dtype) {
  switch (dtype) {
    case DType::float16:
      return 65520;
    case DType::bfloat16:
      return 0x1.ffp127;
    case DType::float32:
      return 0x1.ffffffp127;
    default:
      return std::numeric_limits<double>::infinity();
  }
}

/// NaN is none of them.
double distance_by(double apart_squares, double squares) {
  if (apart_squares == 0) return 0;
  return squares == 0 ? std::numeric_limits<double>::infinity() : std::sqrt(apart_squares / squares);
}

/// Those of uint64 keep their bits.
std::vector<std::int64_t> wide_integers(const ReplayTensor& tensor) {
  std::vector<std::int64_t> values(tensor.bytes.size() / sizeof(std::int64_t));
  if (!values.empty()) std::memcpy(values.data(), tensor.bytes.data(), values.size() * sizeof(std::int64_t));
  return values;
}

/// Elements that no float64 tells apart are compared by their bytes.
bool measure_wide_integers(const ReplayTensor& device, const ReplayTensor& expected, OutputError& error) {
  const std::vector<std::int64_t> x = wide_integers(device), y = wide_integers(expected);
  double apart_squares = 0, squares = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    squares += static_cast<double>(y[i]) * static_cast<double>(y[i]);
    if (x[i] == y[i]) continue;
    if (error.over++ == 0) {
      error.at = i;
      error.device = static_cast<double>(x[i]);
      error.expected = static_cast<double>(y[i]);
    }
    const double apart = std::fabs(static_cast<double>(x[i]) - static_cast<double>(y[i]));
    apart_squares += apart * apart;
    error.max_absolute = std::max(error.max_absolute, apart);
  }
  error.euclid = distance_by(apart_squares, squares);
  error.worst = error.over == 0 ? 0 : std::numeric_limits<double>::infinity();
  error.diverges = error.over != 0;
  return true;
}

}  // namespace

bool measure(const ReplayTensor& device, const ReplayTensor& expected, const OutputLimit& limit,
             OutputError& error, std::string& reason) {
  if (device.dims != expected.dims && longer_dims(device.dims) != longer_dims(expected.dims)) {
    reason = "the output has the shape " + shape_text(device.dims) + ", and should have " +
             shape_text(expected.dims);
    return false;
  }
  if (is_integer_dtype(device.dtype) && can_be_non_finite(expected.dtype)) {
    reason = "the output has " + std::string(info(device.dtype).name) + ", and should have floats";
    return false;
  }
  const std::optional<std::vector<double>> x = reals_of(device), y = reals_of(expected);
  if (!x || !y || x->size() != y->size()) {
    reason = "elements of " + std::string(info(device.dtype).name) + " are not compared";
    return false;
  }
  error.op_class = limit.op_class;
  error.elements = x->size();
  if (info(device.dtype).bits == 64 && is_integer_dtype(device.dtype) && device.dtype == expected.dtype)
    return measure_wide_integers(device, expected, error);
  const double scale = limit.of_scale == 0 ? 0 : std::max(limit.scale, mean_square_root(*y));
  const double infinite = infinite_from(device.dtype);
  double products = 0, x_squares = 0, y_squares = 0, apart_squares = 0;
  for (std::size_t i = 0; i < x->size(); ++i) {
    const double a = (*x)[i];
    double b = (*y)[i];
    if (std::fabs(b) >= infinite) b = std::copysign(std::numeric_limits<double>::infinity(), b);
    if (a == b || (std::isnan(a) && std::isnan(b))) {
      if (std::isfinite(a)) products += a * b, x_squares += a * a, y_squares += b * b;
      continue;
    }
    ++error.off;
    double allowed = limit.relative * std::fabs(b) + limit.absolute + limit.of_scale * scale + limit.steps;
    double apart = std::fabs(a - b);
    // Rounding may just reach infinity, or just not.
    if (std::isinf(b) != std::isinf(a) && !std::isnan(apart) && std::signbit(a) == std::signbit(b)) {
      allowed = limit.relative * infinite + limit.of_scale * scale;
      apart = infinite - std::fabs(std::isinf(a) ? b : a);
    }
    const bool is_unlike = std::isnan(a) || std::isnan(b) || std::isnan(apart) || std::isinf(apart);
    const double by = is_unlike || allowed == 0 ? std::numeric_limits<double>::infinity() : apart / allowed;
    if (!is_unlike) {
      error.max_absolute = std::max(error.max_absolute, apart);
      apart_squares += apart * apart;
      products += a * b, x_squares += a * a, y_squares += b * b;
    }
    if (is_unlike) apart_squares = std::numeric_limits<double>::infinity();
    if (by > 1) ++error.over;
    const bool worse =
        by > error.worst || (error.off == 1) ||
        (by == error.worst && std::isfinite(apart) && apart > std::fabs(error.device - error.expected));
    if (worse) {
      error.worst = by;
      error.at = i;
      error.device = a;
      error.expected = b;
      error.limit = allowed;
    }
  }
  if (x_squares > 0 && y_squares > 0) error.cosine = products / std::sqrt(x_squares) / std::sqrt(y_squares);
  if (x_squares > 0 && y_squares == 0) error.cosine = 0;
  if (x_squares == 0 && y_squares > 0) error.cosine = 0;
  error.euclid = distance_by(apart_squares, y_squares);
  error.diverges =
      error.over != 0 || (limit.op_class == OpClass::quantised && limit.step_share < 1 &&
                          static_cast<double>(error.off) >
                              std::max(1.0, limit.step_share * static_cast<double>(error.elements)));
  return true;
}

std::string error_text(const OutputError& error, Shape dims) {
  std::vector<Dim> place(dims.size());
  std::uint64_t rest = error.at;
  for (std::size_t d = dims.size(); d-- != 0;) {
    place[d] = dims[d] == 0 ? 0 : rest % dims[d];
    rest = dims[d] == 0 ? 0 : rest / dims[d];
  }
  const bool by_share = error.over == 0 && error.op_class == OpClass::quantised;
  std::string text = std::to_string(by_share ? error.off : error.over) + " of " +
                     count_text(error.elements, "element") +
                     (by_share                           ? " a step off"
                      : error.op_class == OpClass::exact ? " wrong"
                                                         : " beyond the limit") +
                     ", the worst " + number_text(error.device) + " for " + number_text(error.expected) +
                     " at " + shape_text(place);
  if (error.limit != 0) text += ", which may be " + number_text(error.limit) + " off";
  return text;
}

}  // namespace opdump::tool
