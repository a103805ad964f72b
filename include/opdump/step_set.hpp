#pragma once
#include <cstdint>
#include <span>

#include "opdump/status.hpp"

namespace opdump {
inline namespace OPDUMP_NAMESPACE {

/// Steps `first` to `last`, both included; none if `last` is before `first`.
struct StepRange {
  std::uint64_t first;
  std::uint64_t last;
};

/// The steps a config asks for. Without ranges: every step. Refers to the ranges, which live as long as the
/// config.
struct StepSet {
  std::span<const StepRange> ranges{};

  constexpr bool every_step() const { return ranges.empty(); }

  constexpr bool no_step() const { return ranges.size() == 1 && ranges[0].last < ranges[0].first; }

  constexpr bool contains(std::uint64_t step) const {
    if (every_step()) return true;
    for (const StepRange& range : ranges) {
      if (step >= range.first && step <= range.last) return true;
    }
    return false;
  }
};

inline constexpr StepRange kEmptyRange{1, 0};

/// No step at all.
inline constexpr StepSet kNoSteps{{&kEmptyRange, 1}};

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump
