#pragma once
#include <string>
#include <vector>

#include "src/tool/commands/doctor/board.hpp"

namespace opdump::tool {

/// Loads the libraries that a program on a board may use, by their names, as such a program would, and looks
/// up the functions. They stay loaded. Loading runs what a library does when it starts.
std::vector<FoundLibrary> find_libraries();

/// The variables that opdump and the system's loader read and that are set.
std::vector<FoundVariable> find_variables();

/// Looks at `config`, or if that is empty at the one that MINDSPORE_DUMP_CONFIG names, or else at acl.json in
/// the current directory if there is one. Makes a file in the directory that is dumped to, and removes it.
FoundFiles find_files(const std::string& config);

FoundClock find_clock();

}  // namespace opdump::tool
