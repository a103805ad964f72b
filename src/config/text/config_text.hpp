#pragma once
#include <string>
#include <vector>

#include "opdump/types/config.hpp"

namespace opdump::tool {

/// What an active config means, in lines: what is captured, of which models and operators, at which steps,
/// and where it goes.
std::vector<std::string> config_lines(const DumpConfig& config);

}  // namespace opdump::tool
