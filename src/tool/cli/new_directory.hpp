#pragma once
#include <string>
#include <string_view>

namespace opdump::tool {

/// Why no files may be written to `directory`, "DIR: reason"; empty when they may: it is not there, it is empty,
/// or `overwrite` is set. `advice` ends the message about a directory that holds something.
std::string occupied(const std::string& directory, bool overwrite, std::string_view advice);

}  // namespace opdump::tool
