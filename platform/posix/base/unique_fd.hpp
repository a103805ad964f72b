#pragma once
#include <errno.h>
#include <unistd.h>

#include "opdump/knobs.hpp"

namespace opdump::posix {
inline namespace OPDUMP_NAMESPACE {

/// Owns one file descriptor, or none (-1).
class UniqueFd {
 public:
  explicit UniqueFd(int fd = -1) : fd_(fd) {}
  UniqueFd(UniqueFd&& other) : fd_(other.release()) {}
  UniqueFd& operator=(UniqueFd&& other) {
    reset(other.release());
    return *this;
  }
  ~UniqueFd() { reset(); }

  int get() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }

  int release() {
    const int fd = fd_;
    fd_ = -1;
    return fd;
  }

  void reset(int fd = -1) {
    if (fd_ >= 0) ::close(fd_);
    fd_ = fd;
  }

  /// Closes and returns the errno, or 0: network file systems report a failed write only here.
  int close() {
    // EINTR leaves the descriptor closed on Linux; a second close could hit another thread's file.
    return ::close(release()) == 0 || errno == EINTR ? 0 : errno;
  }

 private:
  int fd_;
};

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::posix
