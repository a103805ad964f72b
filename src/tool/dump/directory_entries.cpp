#include "src/tool/dump/directory_entries.hpp"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>

#include <algorithm>
#include <memory>

#include "src/tool/dump/record_name.hpp"

namespace opdump::tool {

std::string path_of(const std::string& directory, std::string_view name) {
  std::string path = directory;
  if (!path.empty() && path.back() != '/') path += '/';
  return path.append(name);
}

bool look_at(const std::string& path, struct stat& status) {
  return fstatat(AT_FDCWD, path.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0;
}

bool list_directory(const std::string& directory, std::vector<DirectoryEntry>& entries) {
  const std::unique_ptr<DIR, int (*)(DIR*)> open(opendir(directory.c_str()), closedir);
  if (open == nullptr) return false;
  for (;;) {
    errno = 0;
    const dirent* entry = readdir(open.get());
    if (entry == nullptr) break;
    const std::string_view name = entry->d_name;
    if (name == "." || name == "..") continue;
    struct stat status {};
    DirectoryEntry found{std::string(name)};
    if (look_at(path_of(directory, name), status)) {
      if (S_ISREG(status.st_mode)) found.kind = DirectoryEntry::Kind::file;
      if (S_ISDIR(status.st_mode)) found.kind = DirectoryEntry::Kind::directory;
    }
    entries.push_back(std::move(found));
  }
  if (errno != 0) return false;
  std::sort(entries.begin(), entries.end(),
            [](const DirectoryEntry& a, const DirectoryEntry& b) { return natural_less(a.name, b.name); });
  return true;
}

}  // namespace opdump::tool
