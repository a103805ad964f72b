#pragma once
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <type_traits>

#include "opdump/status.hpp"

namespace opdump {
inline namespace OPDUMP_NAMESPACE {

/// One extent of a tensor, in elements.
using Dim = std::uint64_t;

inline constexpr std::size_t kMaxRank = 32;

/// A tensor's dims, outermost first; none for a scalar. It refers to the dims and does not copy them: they
/// must stay as long as the Shape is used (in firmware they usually are constants in flash).
using Shape = std::span<const Dim>;

/// The largest number of elements. 64-bit products cost a microcontroller code.
using ElementCount = std::conditional_t<OPDUMP_SMALL_CODE != 0, std::uint32_t, std::uint64_t>;

/// Sets `count` to the elements of `shape`: 1 for a scalar, 0 when a dim is 0. False past `ElementCount`.
constexpr bool count_elements(Shape shape, ElementCount& count) {
  ElementCount product = 1;
  bool fits = true;
  for (const Dim dim : shape) {
    const ElementCount factor = static_cast<ElementCount>(dim);
    count = 0;
    if (dim == 0) return true;
    fits &= factor == dim && !__builtin_mul_overflow(product, factor, &product);
  }
  count = product;
  return fits;
}

/// The same; `too_large` past `ElementCount`.
constexpr Result<std::uint64_t> element_count(Shape shape) {
  ElementCount count = 0;
  if (!count_elements(shape, count)) return Status::too_large;
  return std::uint64_t{count};
}

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump
