#pragma once
#include <string>
#include <string_view>

#include "src/tool/dump/record_file.hpp"

namespace opdump::tool {

/// Whether `path` reads as what its name says; `suffix` is what stands behind the operator's name there. If
/// not, `file.error()` tells why.
bool is_sound(RecordFile& file, const std::string& path, std::string_view suffix);

}  // namespace opdump::tool
