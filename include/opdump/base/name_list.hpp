#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "opdump/base/build.hpp"
#include "opdump/base/bytes.hpp"

namespace opdump {
inline namespace OPDUMP_NAMESPACE {

/// From so many names on a parser sorts a list: looking at all of fewer costs no more.
inline constexpr std::size_t kSortedNames = 16;

/// Whether `name` is one of `names`. `by_name` has the positions of all of them in the order of their bytes, so
/// that the time grows with the logarithm of their number; empty: each is looked at.
constexpr bool holds(std::span<const std::string_view> names,
                     std::span<const std::uint32_t> by_name, const std::string_view& name) {
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
