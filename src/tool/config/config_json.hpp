#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "opdump/config/parse.hpp"
#include "src/config/text/model_match.hpp"

namespace opdump::tool {

/// What `opdump check` has found, as one JSON object. `error` without a fault: the config is valid. `report`
/// may be null.
std::string config_json(std::string_view file, const ConfigError& error, const DumpConfig& config,
                        const std::vector<ConfigNote>& notes, const MatchReport* report);

}  // namespace opdump::tool
