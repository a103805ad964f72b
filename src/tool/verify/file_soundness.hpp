#pragma once
#include <string>
#include <string_view>

#include "src/tool/read/dump/record_file.hpp"

namespace opdump::tool {

/// Why `path` does not read as what its name says; empty: it does. `suffix` is what stands behind the
/// operator's name there; `file` reads it.
std::string problem_of(RecordFile& file, const std::string& path, std::string_view suffix);

}  // namespace opdump::tool
