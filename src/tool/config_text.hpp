#pragma once
#include <string>
#include <vector>

#include "opdump/dump_config.hpp"
#include "opdump/parse_config.hpp"

namespace opdump::tool {

/// "FILE:LINE:COL: key.path: reason", with the key left out when none is to blame.
std::string refusal_text(const std::string& file, const ConfigError& error);

/// What a config means, a line each: what is captured, of which models and operators, at which steps, where
/// to. For an active one.
std::vector<std::string> config_lines(const DumpConfig& config);

}  // namespace opdump::tool
