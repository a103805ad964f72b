#pragma once
#include <string>
#include <vector>

#include "src/tool/commands/doctor/board.hpp"
#include "src/tool/commands/doctor/prospects.hpp"

namespace opdump::tool {

/// The answer as one JSON object.
std::string board_json(const Board& board, const std::vector<Prospect>& prospects, int exit_status);

}  // namespace opdump::tool
