#pragma once
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

#include "opdump/status.hpp"

namespace opdump {
inline namespace OPDUMP_NAMESPACE {

/// One extent of a tensor, in elements.
using Dim = std::uint64_t;

inline constexpr std::size_t kMaxRank = 32;

/// A tensor's dims, outermost first; none for a scalar. It refers to the dims and does not copy them: they
/// must stay as long as the Shape is used (in firmware they usually are constants in flash).
using Shape = std::span<const Dim>;

/// Elements of `shape`: 1 for a scalar, 0 when a dim is 0. `too_large` when the product passes 64 bits.
constexpr Result<std::uint64_t> element_count(Shape shape) {
  for (Dim dim : shape) {
    if (dim == 0) return std::uint64_t{0};
  }
  std::uint64_t count = 1;
  for (Dim dim : shape) {
    // The division decides, and is only worth its time where a factor is large.
    if ((count | dim) >> 32 != 0 && count > std::numeric_limits<std::uint64_t>::max() / dim)
      return Status::too_large;
    count *= dim;
  }
  return count;
}

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump
