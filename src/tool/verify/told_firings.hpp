#pragma once
#include <functional>
#include <string>

#include "src/tool/read/dump/found_files.hpp"

namespace opdump::tool {

/// Calls `tell` with a line for each firing that the journals among `files` tell of, and for what became of
/// all firings of each trigger, in the order of the journals. Lines that cannot be read are left to
/// `opdump verify`.
void tell_firings(const std::vector<FoundFile>& files, const std::function<void(const std::string&)>& tell);

}  // namespace opdump::tool
