#pragma once
#include <string>
#include <vector>

#include "src/tool/commands/doctor/board.hpp"
#include "src/tool/commands/doctor/prospects.hpp"

namespace opdump::tool {

// Each prints one part of the answer to stdout, as tables.

void print_libraries(const std::vector<FoundLibrary>& libraries);
void print_device(const FoundDevice& device);
void print_surroundings(const Board& board);
void print_prospects(const std::vector<Prospect>& prospects);

/// "host", "device", "untold".
std::string_view word_of(FoundDevice::RunMode mode);

/// "untried", "right", "wrong", "failed".
std::string_view word_of(Trial trial);

/// "no", "untried", "yes".
std::string_view word_of(Prospect::Answer answer);

/// The answer as one JSON object.
std::string board_json(const Board& board, const std::vector<Prospect>& prospects, int exit_status);

}  // namespace opdump::tool
