#pragma once
/// The tree sink over system calls that a test can make fail, in a build of its own: another number of
/// recorders puts it into another inline namespace, so that it can be linked with the real one. Include this
/// before any opdump header, in one file per OPDUMP_TEST_RECORDERS.

#if !defined(OPDUMP_TEST_RECORDERS) || !defined(OPDUMP_POSIX_SYNCFS)
#error "define OPDUMP_TEST_RECORDERS (unlike other tests) and OPDUMP_POSIX_SYNCFS first"
#endif
#undef OPDUMP_MAX_RECORDERS
#define OPDUMP_MAX_RECORDERS OPDUMP_TEST_RECORDERS

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <map>
#include <string>
#include <utility>

namespace {

constexpr int kKilledExit = 9;

/// An errno each, or 0 to let the real call through.
struct Faults {
  std::size_t name_limit = 255;  ///< the file system says ENAMETOOLONG beyond it
  const char* forbidden = "";    ///< characters of which it takes no file's name: EINVAL
  int renameat2 = 0;
  int linkat = 0;
  int unlinkat = 0;
  int fsync = 0;
  int fsync_of_directories = 0;
  int syncfs = 0;
  int flock = 0;
  unsigned flock_calls = 0;
  int fsync_calls = 0;
  unsigned calls = 0;                       ///< that change a directory
  unsigned killed_at_call = 0;              ///< the process ends when that many have been made; 0: never
  bool has_disk = false;                    ///< of `free` bytes
  std::uint64_t free = 0;                   ///< not counted: names and directories
  bool reserves = true;                     ///< false: the file system has no fallocate
  std::map<ino_t, std::uint64_t> ends{};    ///< of what was reserved
  const char* made_after_unlink = nullptr;  ///< file of another writer that appears after the next unlink
} g_faults;

int injected(int error) {
  errno = error;
  return -1;
}

/// Before each call that changes a directory.
void maybe_kill() {
  if (++g_faults.calls == g_faults.killed_at_call) _exit(kKilledExit);
}

/// Takes what the file needs to end at `to` from the disk; false: it is full.
bool take_room(int file, std::uint64_t to) {
  struct stat status;
  if (!g_faults.has_disk || fstat(file, &status) != 0) return true;
  std::uint64_t& end = g_faults.ends[status.st_ino];
  end = std::max(end, static_cast<std::uint64_t>(status.st_size));
  if (to <= end) return true;
  if (to - end > g_faults.free) return false;
  g_faults.free -= to - end;
  end = to;
  return true;
}

[[maybe_unused]] ssize_t faulty_writev(int file, const iovec* parts, int count) {
  struct stat status;
  std::uint64_t bytes = 0;
  for (int i = 0; i < count; ++i) bytes += parts[i].iov_len;
  if (fstat(file, &status) == 0 && !take_room(file, static_cast<std::uint64_t>(status.st_size) + bytes))
    return injected(ENOSPC);
  return writev(file, parts, count);
}

[[maybe_unused]] ssize_t faulty_pwrite(int file, const void* from, std::size_t bytes, off_t at) {
  return take_room(file, static_cast<std::uint64_t>(at) + bytes) ? pwrite(file, from, bytes, at)
                                                                 : injected(ENOSPC);
}

[[maybe_unused]] int faulty_fallocate(int file, int mode, off_t at, off_t bytes) {
  if (!g_faults.reserves) return injected(EOPNOTSUPP);
  if (!g_faults.has_disk) return fallocate(file, mode, at, bytes);
  return take_room(file, static_cast<std::uint64_t>(at + bytes)) ? 0 : injected(ENOSPC);
}

[[maybe_unused]] int faulty_ftruncate(int file, off_t bytes) {
  struct stat status;
  if (g_faults.has_disk && fstat(file, &status) == 0) {
    std::uint64_t& end = g_faults.ends[status.st_ino];
    const auto to = static_cast<std::uint64_t>(bytes);
    if (end > to) g_faults.free += end - to;
    end = to;
  }
  return ftruncate(file, bytes);
}

[[maybe_unused]] int faulty_fstatvfs(int file, struct statvfs* status) {
  const int result = fstatvfs(file, status);
  if (g_faults.has_disk) status->f_bavail = g_faults.free / status->f_frsize;
  return result;
}

[[maybe_unused]] int faulty_openat(int directory, const char* name, int flags, mode_t mode) {
  if (directory != AT_FDCWD && std::strlen(name) > g_faults.name_limit) return injected(ENAMETOOLONG);
  if ((flags & O_CREAT) != 0 && std::strpbrk(name, g_faults.forbidden) != nullptr) return injected(EINVAL);
  if ((flags & O_CREAT) != 0) maybe_kill();
  return openat(directory, name, flags, mode);
}

[[maybe_unused]] int faulty_fstatat(int directory, const char* name, struct stat* status, int flags) {
  if (std::strlen(name) > g_faults.name_limit) return injected(ENAMETOOLONG);
  return fstatat(directory, name, status, flags);
}

long faulty_syscall(long number, int from_directory, const char* from, int to_directory, const char* to,
                    unsigned flags) {
  maybe_kill();
  if (g_faults.renameat2 != 0) return injected(g_faults.renameat2);
  return syscall(number, from_directory, from, to_directory, to, flags);
}

[[maybe_unused]] int faulty_linkat(int from_directory, const char* from, int to_directory, const char* to,
                                   int flags) {
  maybe_kill();
  if (g_faults.linkat != 0) return injected(g_faults.linkat);
  return linkat(from_directory, from, to_directory, to, flags);
}

[[maybe_unused]] int faulty_unlinkat(int directory, const char* name, int flags) {
  maybe_kill();
  if (g_faults.unlinkat != 0) return injected(std::exchange(g_faults.unlinkat, 0));
  const int result = unlinkat(directory, name, flags);
  if (const char* made = std::exchange(g_faults.made_after_unlink, nullptr))
    close(openat(directory, made, O_WRONLY | O_CREAT | O_EXCL, 0600));
  return result;
}

/// Gives the file's room back to the disk.
int freeing_unlinkat(int directory, const char* name, int flags) {
  struct stat status = {};
  const bool is_known = fstatat(directory, name, &status, AT_SYMLINK_NOFOLLOW) == 0;
  const int result = unlinkat(directory, name, flags);
  if (g_faults.has_disk && is_known && result == 0 && S_ISREG(status.st_mode))
    g_faults.free += std::max(std::exchange(g_faults.ends[status.st_ino], 0), std::uint64_t(status.st_size));
  return result;
}

[[maybe_unused]] int faulty_fsync(int file) {
  ++g_faults.fsync_calls;
  struct stat status;
  if (g_faults.fsync_of_directories != 0 && fstat(file, &status) == 0 && S_ISDIR(status.st_mode))
    return injected(g_faults.fsync_of_directories);
  return g_faults.fsync != 0 ? injected(g_faults.fsync) : fsync(file);
}

[[maybe_unused]] int faulty_syncfs(int file) {
  return g_faults.syncfs != 0 ? injected(g_faults.syncfs) : syncfs(file);
}

[[maybe_unused]] int faulty_flock(int file, int operation) {
  ++g_faults.flock_calls;
  return g_faults.flock != 0 ? injected(std::exchange(g_faults.flock, 0)) : flock(file, operation);
}

}  // namespace

#define writev faulty_writev
#define pwrite faulty_pwrite
#define fallocate faulty_fallocate
#define ftruncate faulty_ftruncate
#define fstatvfs faulty_fstatvfs
#include "platform/posix/tree/journal_room.cpp"
#include "platform/posix/tree/short_journal.cpp"
#define unlinkat freeing_unlinkat
#include "platform/posix/tree/tree_quota.cpp"
#undef unlinkat
#define openat faulty_openat
#define fstatat faulty_fstatat
#define syscall faulty_syscall
#define linkat faulty_linkat
#define unlinkat faulty_unlinkat
#define fsync(file) faulty_fsync(file)
#define syncfs faulty_syncfs
#define flock faulty_flock
#include "platform/posix/tree/appended_file.cpp"
#include "platform/posix/tree/tree_files.cpp"
#include "platform/posix/tree_sink.cpp"
#undef openat
#undef fstatat
#undef syscall
#undef linkat
#undef unlinkat
#undef fsync
#undef syncfs
#undef flock
#undef writev
#undef pwrite
#undef fallocate
#undef ftruncate
#undef fstatvfs
