#include "platform/posix/tree/appended_file.hpp"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "platform/posix/impl/write_all.hpp"
#include "platform/posix/tree/tree_files.hpp"

namespace opdump::posix {
inline namespace OPDUMP_NAMESPACE {

int AppendedFile::append(int directory, const char* name, std::span<const Bytes> parts, bool syncs_each,
                         bool& made) {
  struct stat status;
  // An open file keeps its number, so that no other one can have it.
  const bool same = file_ && fstatat(directory, name, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
                    status.st_dev == device_ && status.st_ino == inode_;
  if (!same) {
    if (const int error = open(directory, name, status)) return error;
  }
  if (!S_ISREG(status.st_mode) || status.st_nlink != 1) {  // its bytes might land elsewhere
    file_.reset();
    return EPERM;
  }
  made = status.st_size == 0;
  if (made)
    if (const int error = force_mode(file_.get(), 0600)) return error;
  int error = write_all(file_.get(), parts);
  if (error == 0 && syncs_each && fsync(file_.get()) != 0) error = errno;
  if (error != 0 && ftruncate(file_.get(), status.st_size) != 0) return errno;
  return error;
}

int AppendedFile::open(int directory, const char* name, struct stat& status) {
  const int error = close();
  file_.reset(open_at(directory, name, O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK, 0600));
  if (!file_) return errno;
  if (fstat(file_.get(), &status) != 0) {
    const int refused = errno;
    file_.reset();  // it would pass for the file of before
    return refused;
  }
  device_ = status.st_dev;
  inode_ = status.st_ino;
  return error;
}

int AppendedFile::close() {
  return file_ ? file_.close() : 0;
}

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::posix
