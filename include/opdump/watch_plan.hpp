#pragma once
#include <cstdint>
#include <span>
#include <string_view>

#include "opdump/dump_config.hpp"
#include "opdump/model.hpp"

namespace opdump {
inline namespace OPDUMP_NAMESPACE {

/// Of a plan that watches, an operator's byte: whether it is watched, and of which entries of the config's
/// list it is a suspect, or its watched operator. The first three entries are told apart, all others count as
/// one.
inline constexpr std::uint8_t kWatched = 8;
inline constexpr std::uint8_t kWatchEntries = 0xf0;

constexpr bool is_watched(std::uint8_t bits) {
  return (bits & kWatched) != 0;
}
constexpr bool is_suspect(std::uint8_t bits) {
  return !is_watched(bits) && (bits & kWatchEntries) != 0;
}

/// Collective operators cannot be suspects. Source: CANN.
constexpr bool is_collective(const OpDesc& op) {
  return op.type.starts_with("Hcom");
}

/// The bits of `op` under `rules`, which watch. A watched operator is never a suspect. Watched names are
/// those of operators as they run, not of what was fused into them. Source: CANN.
constexpr std::uint8_t watch_bits(std::span<const ModelRule> rules, const OpDesc& op) {
  std::uint8_t watched = 0;
  std::uint8_t suspected = 0;
  for (std::size_t i = 0; i < rules.size(); ++i) {
    const ModelRule& rule = rules[i];
    if (rule.extras == nullptr || rule.extras->watched.empty()) continue;
    const std::uint8_t entry = static_cast<std::uint8_t>(0x10u << (i < 3 ? i : 3));
    for (const std::string_view name : rule.extras->watched) {
      if (name == op.name) watched = static_cast<std::uint8_t>(watched | entry | kWatched);
    }
    bool suspect = rule.all_layers;
    for (const std::string_view layer : rule.layers) {
      suspect = suspect || layer == op.name;
      for (const std::string_view original : op.original_names) suspect = suspect || layer == original;
    }
    if (suspect && !is_collective(op)) suspected = static_cast<std::uint8_t>(suspected | entry);
  }
  return watched != 0 ? watched : suspected;
}

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump
