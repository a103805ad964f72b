#pragma once
#include <sys/stat.h>

#include <string>
#include <string_view>
#include <vector>

namespace opdump::tool {

/// `directory` and `name` as one path.
std::string path_of(const std::string& directory, std::string_view name);

/// The status of what is at `path` itself, not behind a link. False, with errno, when it cannot be asked.
bool look_at(const std::string& path, struct stat& status);

/// One entry of a directory.
struct DirectoryEntry {
  enum class Kind { file, directory, other };
  std::string name;
  Kind kind = Kind::other;
};

/// The entries of a directory in natural order; symbolic links are `other`. When it cannot be read to its end,
/// `error` says why.
std::vector<DirectoryEntry> read_directory(const std::string& directory, std::string& error);

}  // namespace opdump::tool
