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

/// Elements of `shape`: 1 for a scalar, 0 when a dim is 0. `too_large` past `ElementCount`.
constexpr Result<std::uint64_t> element_count(Shape shape) {
  ElementCount count = 1;
  bool too_large = false;
  for (const Dim dim : shape) {
    if (dim == 0) return std::uint64_t{0};
    const ElementCount factor = static_cast<ElementCount>(dim);
    too_large |= factor != dim || __builtin_mul_overflow(count, factor, &count);
  }
  if (too_large) return Status::too_large;
  return std::uint64_t{count};
}

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump
