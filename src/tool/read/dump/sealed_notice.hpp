#pragma once
#include <cstddef>
#include <string>
#include <vector>

namespace opdump::tool {

/// The first sealed::kHeadBytes of the file at `path`; empty: it is not sealed, or cannot be read.
std::vector<std::byte> sealed_head_of(const std::string& path);

/// The key id that the file at `path` says it is sealed for; empty: it is not sealed, or cannot be read.
std::string sealed_for(const std::string& path);

/// What a command that reads dumps says of sealed files at `path`.
std::string sealed_text(const std::string& path, const std::string& key_id);

}  // namespace opdump::tool
