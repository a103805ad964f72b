#pragma once
#include <vector>

#include "src/tool/commands/doctor/board.hpp"

namespace opdump::tool {

/// Loads the libraries that a program on a board may use, by their names, as such a program would, and looks
/// up the functions. They stay loaded. Loading runs what a library does when it starts.
std::vector<FoundLibrary> find_libraries();

}  // namespace opdump::tool
