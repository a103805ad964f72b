#pragma once
#include <sys/stat.h>

#include <span>

#include "opdump/base/bytes.hpp"
#include "platform/posix/base/unique_fd.hpp"

namespace opdump::posix {
inline namespace OPDUMP_NAMESPACE {

/// The file that lines are added to, which stays open from one line to the next: opening it takes longer than
/// the line. Each call returns an errno, 0 for success.
class AppendedFile {
 public:
  /// Adds `parts` to the file called `name`, all or nothing; where that is another one than the last time,
  /// because the name is or somebody moved or deleted the file, it is opened or made. `made` becomes true
  /// when there was no such file.
  int append(int directory, const char* name, std::span<const Bytes> parts, bool syncs_each, bool& made);

  /// Errors that a file system keeps until then.
  int close();

 private:
  int open(int directory, const char* name, struct stat& status);

  UniqueFd file_;
  dev_t device_ = 0;
  ino_t inode_ = 0;
};

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::posix
