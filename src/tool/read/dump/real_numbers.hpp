#pragma once
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "opdump/types/dtype.hpp"
#include "opdump/types/tensor.hpp"
#include "src/card/quantisation.hpp"

namespace opdump::tool {

using cards::Quantisation;
using cards::QuantScheme;

/// Whether one set of parameters is for the whole tensor, whatever its shape.
inline bool is_uniform(const Quantisation& quant) {
  switch (quant.scheme) {
    case QuantScheme::affine:
      return quant.scales.size() == 1;
    case QuantScheme::pow2:
      return quant.exponents.size() == 1;
    case QuantScheme::lut:
      return quant.axis < 0;
    case QuantScheme::none:
    case QuantScheme::block:
      break;
  }
  return false;
}

/// The real numbers that the elements of one tensor stand for, one for each: of every scheme but block.
/// Refers to the quantisation.
class RealNumbers {
 public:
  RealNumbers(const Quantisation& quant, DType dtype, Shape shape) : quant_(quant) {
    const std::int64_t bits = info(dtype).bits;
    const bool is_signed = dtype == DType::int4 || dtype == DType::int8 || dtype == DType::int16;
    const bool is_unsigned = dtype == DType::uint4 || dtype == DType::uint8 || dtype == DType::uint16;
    // A table has no end at which a quantiser saturates.
    has_limits_ = quant.scheme != QuantScheme::lut && (is_signed || is_unsigned);
    if (has_limits_) {
      least_ = is_signed ? -static_cast<double>(std::int64_t{1} << (bits - 1)) : 0;
      most_ = static_cast<double>((std::int64_t{1} << (is_signed ? bits - 1 : bits)) - 1);
    }
    fits_ = take_groups(shape);
  }

  /// Whether there are parameters for each element. False: nothing else is known.
  bool fits() const { return fits_; }

  /// Whether the dtype has a least and a greatest element, at which a quantiser saturates.
  bool has_limits() const { return has_limits_; }
  bool is_least(double stored) const { return stored == least_; }
  bool is_most(double stored) const { return stored == most_; }

  /// Whether `rounded` is known.
  bool rounds() const { return fits_ && has_limits_; }

  /// The nearest number that element `index` can stand for.
  double rounded(double number, std::uint64_t index) const {
    const double zero = real(0, index);
    const double stored = std::nearbyint((number - zero) / (real(1, index) - zero));
    return std::isnan(stored) ? stored : real(std::fmin(std::fmax(stored, least_), most_), index);
  }

  /// The number that element `index`, `stored`, stands for; NaN where a table has no entry for it.
  double real(double stored, std::uint64_t index) const {
    const std::size_t group = groups_ == 1 ? 0 : static_cast<std::size_t>(index / inner_ % groups_);
    switch (quant_.scheme) {
      case QuantScheme::affine: {
        const double zero = quant_.zero_points.empty() ? 0 : static_cast<double>(quant_.zero_points[group]);
        return static_cast<double>(quant_.scales[group]) * (stored - zero);
      }
      case QuantScheme::pow2:
        return std::ldexp(stored, quant_.exponents[group]);
      case QuantScheme::lut: {
        const double place = stored - static_cast<double>(quant_.first);
        if (place >= 0 && place < static_cast<double>(entries_) && place == std::floor(place))
          return static_cast<double>(quant_.table[group * entries_ + static_cast<std::size_t>(place)]);
        break;
      }
      case QuantScheme::none:
      case QuantScheme::block:
        break;
    }
    return std::numeric_limits<double>::quiet_NaN();
  }

 private:
  bool take_groups(Shape shape) {
    std::size_t given = 0;
    switch (quant_.scheme) {
      case QuantScheme::affine:
        given = quant_.scales.size();
        if (!quant_.zero_points.empty() && quant_.zero_points.size() != given) return false;
        break;
      case QuantScheme::pow2:
        given = quant_.exponents.size();
        break;
      case QuantScheme::lut:
        given = entries_ = quant_.table.size();
        break;
      case QuantScheme::none:
      case QuantScheme::block:
        return false;
    }
    if (is_uniform(quant_) || given == 0) return given != 0;
    if (quant_.axis < 0 || static_cast<std::size_t>(quant_.axis) >= shape.size()) return false;
    const Dim extent = shape[static_cast<std::size_t>(quant_.axis)];
    if (extent == 0 || extent > given) return false;
    groups_ = static_cast<std::size_t>(extent);
    entries_ = given / groups_;
    if (entries_ * groups_ != given || (quant_.scheme != QuantScheme::lut && entries_ != 1)) return false;
    for (const Dim dim : shape.subspan(static_cast<std::size_t>(quant_.axis) + 1)) inner_ *= dim;
    return inner_ != 0;
  }

  const Quantisation& quant_;
  std::size_t groups_ = 1;   ///< of elements that share parameters
  std::size_t entries_ = 0;  ///< of a group's table
  std::uint64_t inner_ = 1;  ///< elements between one index of the axis and the next
  bool fits_ = false;
  bool has_limits_ = false;
  double least_ = 0;
  double most_ = 0;
};

}  // namespace opdump::tool
