#pragma once
#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <string>

#include "opdump/knobs.hpp"
#include "platform/posix/base/unique_fd.hpp"

namespace opdump::storage {
inline namespace OPDUMP_NAMESPACE {

/// The system calls that storage takes. A test gives another class with the same functions, which emulates
/// devices that its machine has not got. All set errno.
struct Kernel {
  int open(const char* path, int flags) { return ::open(path, flags); }
  int fstat(int file, struct ::stat* status) { return ::fstat(file, status); }
  off_t end_of(int file) { return ::lseek(file, 0, SEEK_END); }
  int ioctl(int file, unsigned long request, void* argument) { return ::ioctl(file, request, argument); }
  ssize_t pread(int file, void* to, std::size_t bytes, off_t at) { return ::pread(file, to, bytes, at); }
  ssize_t pwrite(int file, const void* from, std::size_t bytes, off_t at) {
    return ::pwrite(file, from, bytes, at);
  }
  int lock(int file) { return ::flock(file, LOCK_EX | LOCK_NB); }
  int fsync(int file) { return ::fsync(file); }
  int fallocate(int file, int mode, off_t at, off_t bytes) { return ::fallocate(file, mode, at, bytes); }

  /// The first line of a file of sysfs, without its end; false when there is no such file.
  bool read_line(const std::string& path, std::string& line) {
    const posix::UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    char text[128];
    const ssize_t got = file ? ::read(file.get(), text, sizeof text) : -1;
    if (got < 0) return false;
    line.assign(text, static_cast<std::size_t>(got));
    line.resize(line.find('\n') == line.npos ? line.size() : line.find('\n'));
    return true;
  }
};

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::storage
