#pragma once
#include <string>

namespace opdump::tool {

/// Writes to `output` what the `.dbg` file `path` says of its model, as a RUN.json; returns the exit status.
int describe_dbg(const std::string& path, const std::string& output);

}  // namespace opdump::tool
