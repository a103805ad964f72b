#pragma once
#include <string>
#include <vector>

#include "src/tool/match/model_match.hpp"
#include "src/tool/run/run_file.hpp"

namespace opdump::tool {

/// Fills in what a token of each model takes of a dump; the report is of these models.
void add_token_bytes(const TokenRules& rules, const std::vector<RunModel>& models, MatchReport& report);

/// Lines of that for each model and phase, in place of what a step costs.
std::vector<std::string> token_lines(const TokenRules& rules, const MatchReport& report);

}  // namespace opdump::tool
