#pragma once
#include <cstddef>
#include <cstdint>
#include <string>

#include "platform/posix/base/unique_fd.hpp"

namespace opdump::tool {

/// Opens a regular file to read it; on false `reason` says why not, with the path.
bool open_regular(const std::string& path, posix::UniqueFd& file, std::uint64_t& bytes, std::string& reason);

/// Appends to `text` what is in the file, up to `most` bytes of both. False, with errno, when reading fails.
bool read_up_to(int file, std::size_t most, std::string& text);

}  // namespace opdump::tool
