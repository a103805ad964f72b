#pragma once
#include "opdump/dump_config.hpp"

namespace opdump::config {

// What this build can do. A config that can only be met with the rest is valid, and not active.

constexpr bool can_write(Layout layout) {
  return layout == Layout::cann;
}

constexpr bool can_write(DumpData data) {
  return data == DumpData::tensor;
}

/// Whether a world size has a folder in CANN's layout.
inline constexpr bool kRankFolder = false;

}  // namespace opdump::config
