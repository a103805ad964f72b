#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "opdump/base/build.hpp"
#include "opdump/base/bytes.hpp"

namespace opdump {
inline namespace OPDUMP_NAMESPACE {

/// A parser sorts lists of at least this many names; a shorter one costs no more to search in order.
inline constexpr std::size_t kSortedNames = 16;

/// Whether `name` is one of `names`. `by_name` holds the positions of all names, sorted by the names' bytes,
/// so that the search takes logarithmic time; empty: each name is compared.
constexpr bool holds(std::span<const std::string_view> names, std::span<const std::uint32_t> by_name,
                     const std::string_view& name) {
  if (!build::kLean && !by_name.empty()) {
    std::size_t first = 0;
    for (std::size_t count = by_name.size(); count != 0;) {
      const std::size_t half = count / 2;
      const bool before = names[by_name[first + half]] < name;
      first += before ? half + 1 : 0;
      count = before ? count - half - 1 : half;
    }
    return first != by_name.size() && names[by_name[first]] == name;
  }
  for (const std::string_view& one : names) {
    if (is_same(one, name)) return true;
  }
  return false;
}

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump
