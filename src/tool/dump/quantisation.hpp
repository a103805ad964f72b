#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "opdump/types/dtype.hpp"
#include "opdump/types/tensor.hpp"

namespace opdump::tool {

/// How the integers of a tensor stand for real numbers: value = scale * (stored - zero point).
struct Quantisation {
  std::vector<float> scales;  ///< empty: the tensor is not quantised. One, or one for each index of `axis`
  std::vector<std::int64_t> zero_points;  ///< as many as scales; empty: all are 0
  std::int64_t axis = -1;                 ///< -1: one scale for the whole tensor
};

/// The real numbers that the elements of one tensor stand for. Refers to the quantisation.
class RealNumbers {
 public:
  RealNumbers(const Quantisation& quant, DType dtype, Shape shape) : quant_(quant) {
    const std::int64_t bits = info(dtype).bits;
    const bool is_signed = dtype == DType::int4 || dtype == DType::int8 || dtype == DType::int16;
    const bool is_unsigned = dtype == DType::uint4 || dtype == DType::uint8 || dtype == DType::uint16;
    has_limits_ = is_signed || is_unsigned;
    if (has_limits_) {
      least_ = is_signed ? -static_cast<double>(std::int64_t{1} << (bits - 1)) : 0;
      most_ = static_cast<double>((std::int64_t{1} << (is_signed ? bits - 1 : bits)) - 1);
    }
    fits_ = !quant.scales.empty() &&
            (quant.zero_points.empty() || quant.zero_points.size() == quant.scales.size());
    if (quant.scales.size() < 2 || !fits_) return;
    fits_ = quant.axis >= 0 && static_cast<std::size_t>(quant.axis) < shape.size() &&
            shape[static_cast<std::size_t>(quant.axis)] == quant.scales.size();
    if (!fits_) return;
    for (const Dim dim : shape.subspan(static_cast<std::size_t>(quant.axis) + 1)) inner_ *= dim;
    fits_ = inner_ != 0;
  }

  /// Whether there is a scale for each element. False: nothing else is known.
  bool fits() const { return fits_; }

  /// Whether the dtype has a least and a greatest element, at which a quantiser saturates.
  bool has_limits() const { return has_limits_; }
  bool is_least(double stored) const { return stored == least_; }
  bool is_most(double stored) const { return stored == most_; }

  /// The number that element `index`, `stored`, stands for.
  double real(double stored, std::uint64_t index) const {
    const std::size_t of =
        quant_.scales.size() < 2 ? 0 : static_cast<std::size_t>(index / inner_ % quant_.scales.size());
    const double zero = quant_.zero_points.empty() ? 0 : static_cast<double>(quant_.zero_points[of]);
    return static_cast<double>(quant_.scales[of]) * (stored - zero);
  }

 private:
  const Quantisation& quant_;
  std::uint64_t inner_ = 1;  ///< elements between one index of the axis and the next
  bool fits_ = false;
  bool has_limits_ = false;
  double least_ = 0;
  double most_ = 0;
};

}  // namespace opdump::tool
