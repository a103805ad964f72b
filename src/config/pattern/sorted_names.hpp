#pragma once
#include <algorithm>
#include <numeric>

#include "opdump/base/arena.hpp"
#include "opdump/base/name_list.hpp"
#include "opdump/types/config.hpp"

namespace opdump::config {

/// Sorts the rule's layers for `holds` if there are many. False: there is no memory.
[[nodiscard]] inline bool sort_layers(ModelRule& rule, Arena& memory) {
  if (build::kLean || rule.layers.size() < kSortedNames) return true;
  const Result<std::span<std::uint32_t>> sorted = memory.array<std::uint32_t>(rule.layers.size());
  if (!sorted.ok()) return false;
  std::iota(sorted.value().begin(), sorted.value().end(), 0u);
  std::sort(sorted.value().begin(), sorted.value().end(),
            [&](std::uint32_t a, std::uint32_t b) { return rule.layers[a] < rule.layers[b]; });
  rule.layers_by_name = sorted.value();
  return true;
}

}  // namespace opdump::config
