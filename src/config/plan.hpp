#pragma once
#include <string_view>

#include "opdump/arena.hpp"
#include "opdump/parse_config.hpp"
#include "refusal.hpp"

namespace opdump::config {

/// Reads a compiled plan, which is copied into `memory`.
bool read_plan(std::string_view text, Arena& memory, DumpPathCheck check_path, DumpConfig& config,
               Refusal& refusal);

}  // namespace opdump::config
