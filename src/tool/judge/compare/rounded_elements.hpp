#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>

#include "src/tool/judge/compare/comparison.hpp"

namespace opdump::tool {

/// What a floating dtype keeps of a number.
struct FloatRounding {
  int digits = 0;          ///< bits of the fraction
  int least_exponent = 0;  ///< of a normal number
  double most = 0;         ///< the greatest finite number; what rounds beyond it is infinite

  double round(double number) const {
    if (number == 0 || !std::isfinite(number)) return number;
    const double step = std::ldexp(1.0, std::max(std::ilogb(number), least_exponent) - digits);
    const double rounded = std::nearbyint(number / step) * step;
    if (std::fabs(rounded) <= most) return rounded;
    return std::copysign(std::numeric_limits<double>::infinity(), number);
  }

  double rounded(double number, std::uint64_t) const { return round(number); }
};

/// Nothing for float32 and wider ones, and for what is no floating dtype.
inline std::optional<FloatRounding> rounding_of(DType dtype) {
  if (dtype == DType::float16) return FloatRounding{10, -14, 65504};
  if (dtype == DType::bfloat16) return FloatRounding{7, -126, 0x1.fep127};
  return std::nullopt;
}

/// The elements of another array as they are once rounded by `rounding.rounded(number, index)`, as float32.
/// Refers to the array's source.
template <class Rounding>
class RoundedElements final : public compare::ElementSource {
 public:
  RoundedElements(const compare::ComparedArray& array, const Rounding& rounding)
      : array_(array), rounding_(rounding) {}

  const std::byte* read(std::uint64_t offset, std::size_t count, std::byte* buffer) const override {
    constexpr std::size_t kPiece =
        512;  // a multiple of 8, so that pieces of small elements begin with a byte
    constexpr std::size_t kMostBytes = 16;
    std::uint64_t index = offset / sizeof(float);
    std::byte* to = buffer;
    for (std::size_t left = count / sizeof(float); left != 0;) {
      const std::size_t now = std::min(left, kPiece);
      std::byte room[kPiece * kMostBytes];
      const std::byte* const from =
          array_.source->read(index * array_.item_bits / 8, (now * array_.item_bits + 7) / 8, room);
      if (from == nullptr) return nullptr;
      float numbers[kPiece];
      array_.to_floats(from, now, numbers);
      for (std::size_t i = 0; i < now; ++i)
        numbers[i] = static_cast<float>(rounding_.rounded(numbers[i], index + i));
      std::memcpy(to, numbers, now * sizeof(float));
      to += now * sizeof(float);
      index += now;
      left -= now;
    }
    return buffer;
  }

 private:
  const compare::ComparedArray array_;
  const Rounding rounding_;
};

}  // namespace opdump::tool
