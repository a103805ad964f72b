#include "src/tool/read/dump/directory_entries.hpp"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include <algorithm>
#include <memory>

#include "src/tool/read/dump/record_name.hpp"

namespace opdump::tool {
namespace {

/// Where the directory itself tells what the entry is, which many file systems do, the file is not asked.
DirectoryEntry::Kind entry_kind(const std::string& directory, const dirent& entry) {
  if (entry.d_type == DT_REG) return DirectoryEntry::Kind::file;
  if (entry.d_type == DT_DIR) return DirectoryEntry::Kind::directory;
  struct stat status {};
  if (entry.d_type != DT_UNKNOWN || !look_at(path_of(directory, entry.d_name), status))
    return DirectoryEntry::Kind::other;
  if (S_ISREG(status.st_mode)) return DirectoryEntry::Kind::file;
  return S_ISDIR(status.st_mode) ? DirectoryEntry::Kind::directory : DirectoryEntry::Kind::other;
}

}  // namespace

std::string path_of(const std::string& directory, std::string_view name) {
  std::string path = directory;
  if (!path.empty() && path.back() != '/') path += '/';
  return path.append(name);
}

bool look_at(const std::string& path, struct stat& status) {
  return fstatat(AT_FDCWD, path.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0;
}

std::vector<DirectoryEntry> read_directory(const std::string& directory, std::string& error) {
  std::vector<DirectoryEntry> entries;
  const std::unique_ptr<DIR, int (*)(DIR*)> open(opendir(directory.c_str()), closedir);
  if (open == nullptr) {
    error = strerror(errno);
    return entries;
  }
  for (;;) {
    errno = 0;
    const dirent* entry = readdir(open.get());
    if (entry == nullptr) break;
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") entries.push_back({std::string(name), entry_kind(directory, *entry)});
  }
  if (errno != 0) error = strerror(errno);
  std::sort(entries.begin(), entries.end(),
            [](const DirectoryEntry& a, const DirectoryEntry& b) { return natural_less(a.name, b.name); });
  return entries;
}

}  // namespace opdump::tool
