#pragma once
#include <string>
#include <string_view>

#include "opdump/config/parse.hpp"
#include "src/config/text/model_match.hpp"

namespace opdump::tool {

/// What `opdump check` has found, as one JSON object. An error without a fault: the config is valid. `report`
/// may be null.
std::string config_json(std::string_view file, const ConfigOutcome& outcome, const MatchReport* report);

}  // namespace opdump::tool
