#pragma once
#include <string>
#include <vector>

#include "src/tool/dump/found_files.hpp"

namespace opdump::tool {

/// A line for each firing that the journals among `files` tell of, and for what became of all firings of each
/// trigger, in the order of the journals. Lines that cannot be read are left to `opdump verify`.
std::vector<std::string> told_firings(const std::vector<FoundFile>& files);

}  // namespace opdump::tool
