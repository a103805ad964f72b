#include "src/tool/judge/diverge/narrowed_floats.hpp"

#include <bit>
#include <cmath>

#include "opdump/base/bytes.hpp"
#include "src/tool/judge/compare/rounded_elements.hpp"

namespace opdump::tool {
namespace {

/// The bits of a number that `rounding` has rounded, of a dtype of 16 bits.
std::uint16_t bits_of(double number, const FloatRounding& rounding) {
  const int exponent_bits = 15 - rounding.digits;
  const auto all = static_cast<std::uint16_t>((1u << exponent_bits) - 1);
  const auto sign = static_cast<std::uint16_t>(std::signbit(number) ? 0x8000 : 0);
  const auto pack = [&](unsigned exponent, unsigned fraction) {
    return static_cast<std::uint16_t>(sign | exponent << rounding.digits | fraction);
  };
  if (std::isnan(number)) return pack(all, 1u << (rounding.digits - 1));
  if (std::isinf(number)) return pack(all, 0);
  if (number == 0) return sign;
  const int exponent = std::ilogb(number);
  const double step = std::ldexp(1.0, std::max(exponent, rounding.least_exponent) - rounding.digits);
  const auto steps = static_cast<unsigned>(std::fabs(number) / step);
  if (exponent < rounding.least_exponent) return pack(0, steps);
  return pack(static_cast<unsigned>(exponent - rounding.least_exponent + 1), steps - (1u << rounding.digits));
}

}  // namespace

bool narrow_floats(const ReplayTensor& from, DType dtype, ReplayTensor& to) {
  const std::optional<FloatRounding> rounding = rounding_of(dtype);
  if (from.dtype != DType::float64 || (!rounding && dtype != DType::float32)) return false;
  const std::size_t count = from.bytes.size() / sizeof(double);
  const std::size_t item = info(dtype).bits / 8;
  to = {from.name, dtype, from.dims, std::vector<std::byte>(count * item)};
  for (std::size_t i = 0; i < count; ++i) {
    const auto number =
        std::bit_cast<double>(load_little_endian<std::uint64_t>(from.bytes.data() + i * sizeof(double)));
    std::byte* const at = to.bytes.data() + i * item;
    if (rounding)
      store_little_endian(at, bits_of(rounding->round(number), *rounding));
    else
      store_little_endian(at, std::bit_cast<std::uint32_t>(static_cast<float>(number)));
  }
  return true;
}

}  // namespace opdump::tool
