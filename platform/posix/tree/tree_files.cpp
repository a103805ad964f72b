#include "platform/posix/tree/tree_files.hpp"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cstdio>
#include <utility>

#include "platform/posix/base/write_all.hpp"
#include "platform/posix/tree_sink.hpp"

#if defined(__linux__)
#include <linux/fs.h>
#include <sys/syscall.h>
#endif

namespace opdump::posix {
inline namespace OPDUMP_NAMESPACE {
namespace {

constexpr int kOpenDirectory = O_RDONLY | O_DIRECTORY | O_CLOEXEC;

/// Whether a directory that was there may be written in. What others own or may write in could be emptied or
/// read by them; but where the directory above it is no better, as on a card without owners, it is not worse.
int check_owner(int parent, int directory) {
  struct stat above, own;
  if (fstat(parent, &above) != 0 || fstat(directory, &own) != 0) return errno;
  if (own.st_uid != geteuid() && own.st_uid != 0 && own.st_uid != above.st_uid) return EPERM;
  const auto others_write = [](const struct stat& of) {
    return (of.st_mode & S_IWOTH) != 0 && (of.st_mode & S_ISVTX) == 0;
  };
  return others_write(own) && !others_write(above) ? EPERM : 0;
}

int open_or_make(int parent, const char* name, bool syncs_each, UniqueFd& opened) {
  constexpr int kFlags = kOpenDirectory | O_NOFOLLOW;
  opened.reset(open_at(parent, name, kFlags));
  if (opened) return check_owner(parent, opened.get());
  if (errno != ENOENT) return errno;

  if (mkdirat(parent, name, 0700) != 0) {
    if (errno != EEXIST) return errno;
    opened.reset(open_at(parent, name, kFlags));  // another writer was first
    return opened ? check_owner(parent, opened.get()) : errno;
  }
  opened.reset(open_at(parent, name, kFlags));
  if (!opened && errno == EACCES) {  // a umask that takes the owner's bits
    if (fchmodat(parent, name, 0700, AT_SYMLINK_NOFOLLOW) != 0) return errno;
    opened.reset(open_at(parent, name, kFlags));
  }
  if (!opened) return errno;
  if (const int error = syncs_each ? sync_directory(parent) : 0) return error;
  return force_mode(opened.get(), 0700);
}

int append_row(int mapping, std::string_view short_name, std::string_view name, bool syncs_each) {
  struct stat status;
  if (fstat(mapping, &status) != 0) return errno;
  if (status.st_nlink == 0) return ESTALE;
  if (!S_ISREG(status.st_mode) || status.st_nlink != 1) return EPERM;  // its bytes might land elsewhere
  char last = '\n';
  if (status.st_size == 0) {
    if (const int error = force_mode(mapping, 0600)) return error;
  } else if (pread(mapping, &last, 1, status.st_size - 1) != 1) {
    return EIO;
  }
  // A row that a crash cut short must not swallow this one.
  const Bytes row[] = {as_bytes(last == '\n' ? "" : "\n"), as_bytes(short_name), as_bytes(","),
                       as_bytes(name), as_bytes("\n")};
  int error = write_all(mapping, row);
  if (error == 0 && syncs_each && fsync(mapping) != 0) error = errno;
  if (error != 0 && ftruncate(mapping, status.st_size) != 0) return errno;
  return error;
}

/// A lock that others hold for longer is theirs to answer for: the drainer's limits are not.
int lock_briefly(int file, unsigned wait_ms) {
  constexpr timespec kPause = {.tv_sec = 0, .tv_nsec = 1'000'000};
  for (unsigned waited = 0;; ++waited) {
    if (flock(file, LOCK_EX | LOCK_NB) == 0) return 0;
    if (errno == EINTR) continue;
    if (errno != EWOULDBLOCK) return errno;
    if (waited >= wait_ms) return ETIMEDOUT;
    nanosleep(&kPause, nullptr);
  }
}

int try_append_mapping(int directory, std::string_view short_name, std::string_view name, bool syncs_each,
                       unsigned wait_ms) {
  UniqueFd mapping(open_at(directory, kMappingFile.data(), O_RDWR | O_APPEND | O_CREAT | O_NOFOLLOW, 0600));
  if (!mapping) return errno;
  if (const int error = lock_briefly(mapping.get(), wait_ms)) return error;
  const int error = append_row(mapping.get(), short_name, name, syncs_each);
  flock(mapping.get(), LOCK_UN);  // a child forked meanwhile would keep the lock beyond our close
  const int close_error = mapping.close();
  return error != 0 ? error : close_error;
}

}  // namespace

int synced(int result) {
  return result == 0 || errno == EINVAL || errno == ENOTSUP || errno == EOPNOTSUPP ? 0 : errno;
}

int sync_directory(int directory) {
  return synced(fsync(directory));
}

int open_at(int directory, const char* name, int flags, mode_t mode) {
  int fd;
  do fd = openat(directory, name, flags | O_CLOEXEC, mode);
  while (fd < 0 && errno == EINTR);
  return fd;
}

int force_mode(int fd, mode_t mode, bool& kept) {
  struct stat status;
  if (fstat(fd, &status) != 0) return errno;
  kept = (status.st_mode & 0777) == mode;
  return kept || fchmod(fd, (status.st_mode & 07000) | mode) == 0 ? 0 : errno;
}

int force_mode(int fd, mode_t mode) {
  bool kept = false;
  return force_mode(fd, mode, kept);
}

int check_absent(int directory, const char* name) {
  struct stat status;
  if (fstatat(directory, name, &status, AT_SYMLINK_NOFOLLOW) == 0) return EEXIST;
  return errno == ENOENT ? 0 : errno;
}

int open_tree(int base, std::string_view root, std::string_view directory, bool syncs_each,
              UniqueFd& opened) {
  char root_path[TreeSink::kMaxPathBytes + 1];
  root.copy(root_path, root.size());
  root_path[root.size()] = '\0';
  UniqueFd at(open_at(base, root_path, kOpenDirectory));
  if (!at) return errno;

  while (!directory.empty()) {
    const std::string_view part = directory.substr(0, directory.find('/'));
    directory.remove_prefix(part.size() == directory.size() ? part.size() : part.size() + 1);
    if (part.size() > kMaxFileNameBytes) return ENAMETOOLONG;
    char name[kMaxFileNameBytes + 1];
    part.copy(name, part.size());
    name[part.size()] = '\0';
    UniqueFd next;
    if (const int error = open_or_make(at.get(), name, syncs_each, next)) return error;
    at = std::move(next);
  }
  opened = std::move(at);
  return 0;
}

int rename_exclusively(int directory, const char* from, const char* to) {
#if defined(__linux__)
  if (syscall(SYS_renameat2, directory, from, directory, to, RENAME_NOREPLACE) == 0) return 0;
  if (errno != ENOSYS && errno != EINVAL) return errno;
#endif
  if (linkat(directory, from, directory, to, 0) == 0) {
    if (unlinkat(directory, from, 0) == 0) return 0;
    const int error = errno;
    unlinkat(directory, to, 0);
    return error;
  }
  if (errno != EPERM && errno != EOPNOTSUPP && errno != ENOSYS && errno != EMLINK) return errno;
  // No hard links either. Opdump's writers are kept away by the temporary file; the check is for others.
  if (const int error = check_absent(directory, to)) return error;
  return renameat(directory, from, directory, to) == 0 ? 0 : errno;
}

int append_mapping(int directory, std::string_view short_name, std::string_view name, bool syncs_each,
                   unsigned wait_ms) {
  const int error = try_append_mapping(directory, short_name, name, syncs_each, wait_ms);
  // Another process has removed it meanwhile, as a quota does when its files are gone.
  return error == ESTALE ? try_append_mapping(directory, short_name, name, syncs_each, wait_ms) : error;
}

int make_file(int directory, const char* name, std::span<const Bytes> parts, bool syncs_each) {
  UniqueFd file(open_at(directory, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0600));
  if (!file) return errno;
  int error = write_all(file.get(), parts);
  if (error == 0 && syncs_each && fsync(file.get()) != 0) error = errno;
  if (error == 0 && syncs_each) error = sync_directory(directory);
  const int close_error = file.close();
  if (error == 0) error = close_error;
  if (error != 0) unlinkat(directory, name, 0);
  return error;
}

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::posix
