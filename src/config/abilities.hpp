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

}  // namespace opdump::config
