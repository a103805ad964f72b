#pragma once
#include <string>
#include <vector>

#include "opdump/types/config.hpp"

namespace opdump::tool {

/// What a config means, a line each: what is captured, of which models and operators, at which steps, where
/// to. For an active one.
std::vector<std::string> config_lines(const DumpConfig& config);

}  // namespace opdump::tool
