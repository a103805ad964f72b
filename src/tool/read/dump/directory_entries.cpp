#include "src/tool/read/dump/directory_entries.hpp"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>

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

/// The kind stands before the name.
bool DirectoryList::less(std::string_view a, std::string_view b) {
  return natural_less(a.substr(1), b.substr(1));
}

bool DirectoryList::read(const std::string& directory) {
  const std::unique_ptr<DIR, int (*)(DIR*)> open(opendir(directory.c_str()), closedir);
  if (open == nullptr) {
    error_ = strerror(errno);
    return false;
  }
  std::string text;
  for (;;) {
    errno = 0;
    const dirent* entry = readdir(open.get());
    if (entry == nullptr) break;
    const std::string_view name = entry->d_name;
    if (name == "." || name == "..") continue;
    text.assign(1, static_cast<char>(entry_kind(directory, *entry))).append(name);
    // What does not fit is told by `error`.
    static_cast<void>(sort_.add(text));
  }
  if (errno != 0) error_ = strerror(errno);
  static_cast<void>(sort_.finish());
  return error().empty();
}

bool DirectoryList::Reader::next(DirectoryEntry& entry) {
  std::string_view text;
  if (!reader_.next(text)) return false;
  entry.kind = static_cast<DirectoryEntry::Kind>(text[0]);
  entry.name = text.substr(1);
  return true;
}

}  // namespace opdump::tool
