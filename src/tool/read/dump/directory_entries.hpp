#pragma once
#include <sys/stat.h>

#include <string>
#include <string_view>

#include "src/tool/read/dump/spilled_sort.hpp"

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

/// The entries of a directory in natural order, in bounded memory; symbolic links are `other`.
class DirectoryList {
 public:
  /// To be called once. False, with `error()`, when the directory cannot be read.
  bool read(const std::string& directory);

  /// What is wrong, also with the list; else empty.
  const std::string& error() const { return error_.empty() ? sort_.error() : error_; }

  class Reader {
   public:
    explicit Reader(const DirectoryList& list) : reader_(list.sort_) {}

    /// False after the last one.
    bool next(DirectoryEntry& entry);

   private:
    SpilledSort::Reader reader_;
  };

 private:
  static bool less(std::string_view a, std::string_view b);

  SpilledSort sort_{less};
  std::string error_;
};

}  // namespace opdump::tool
