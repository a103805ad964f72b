#include "platform/posix/tree/journal_room.hpp"

#include <errno.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>

namespace opdump::posix {
inline namespace OPDUMP_NAMESPACE {
namespace {

/// Reserves `bytes` behind `from`, where the file ends. Returns an errno, 0 for success.
int reserve(int file, std::uint64_t from, std::uint64_t bytes) {
#if defined(__linux__)
  // Past this limit some file systems send a signal.
  rlimit limit;
  if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY &&
      limit.rlim_cur < from + bytes)
    return EFBIG;
  int result;
  do result = fallocate(file, FALLOC_FL_KEEP_SIZE, static_cast<off_t>(from), static_cast<off_t>(bytes));
  while (result != 0 && errno == EINTR);
  return result == 0 ? 0 : errno;
#else
  static_cast<void>(file);
  return from + bytes == 0 ? 0 : EOPNOTSUPP;
#endif
}

constexpr std::uint64_t kLeastRoom = 256;

bool is_full(int error) {
  return error == ENOSPC || error == EDQUOT || error == EFBIG;
}

std::uint64_t free_of(int file) {
  struct statvfs status;
  return fstatvfs(file, &status) != 0 ? UINT64_MAX : std::uint64_t{status.f_bavail} * status.f_frsize;
}

std::uint64_t room_on(int file) {
  constexpr std::uint64_t kLeast = 4096;
  constexpr std::uint64_t kMost = 65536;
  struct statvfs status;
  if (fstatvfs(file, &status) != 0) return kLeast;
  return std::clamp(std::uint64_t{status.f_blocks} * status.f_frsize / 16, kLeast, kMost);
}

}  // namespace

JournalRoom::Room& JournalRoom::of(const struct stat& status) {
  for (Room& room : rooms_)
    if (room.most != 0 && room.device == status.st_dev && room.inode == status.st_ino) return room;
  Room& room = rooms_[next_];
  next_ = (next_ + 1) % kMostJournals;
  room = {.device = status.st_dev, .inode = status.st_ino};
  return room;
}

bool JournalRoom::take(int file, const struct stat& status, std::uint64_t more) {
  Room& room = of(status);
  if (room.end == 0) room.most = room_on(file);
  const std::uint64_t needed = static_cast<std::uint64_t>(status.st_size) + more;
  const auto is_enough = [&room, needed] { return needed + room.most / 2 <= room.end; };
  if (watched_ == 0) {
    if (is_enough()) return true;
    int error = reserve(file, needed - more, more + room.most);
    // A disk that is nearly full from the start has less.
    while (room.end == 0 && (error == ENOSPC || error == EDQUOT) && room.most > kLeastRoom) {
      room.most /= 2;
      error = reserve(file, needed - more, more + room.most);
    }
    if (error == 0) room.end = needed + room.most;
    if (error == 0 || is_full(error)) return room.end == 0 || is_enough();
    watched_ = unlooked_ = room.most;
  }
  const std::uint64_t free = free_of(file);
  room.end = needed - more + std::min(free, more + room.most);
  return is_enough();
}

void JournalRoom::take_again(int file, Room& room, std::uint64_t size) {
  if (watched_ == 0 && room.end > size && reserve(file, size, room.end - size) != 0) room.end = size;
}

void JournalRoom::give_back(int file, Room& room, std::uint64_t size) {
  // Where that fails the journal stays as large on the disk as it is.
  if (watched_ == 0 && room.end > size) static_cast<void>(ftruncate(file, static_cast<off_t>(size)) == 0);
  room = {};
}

bool JournalRoom::leaves(int file, std::uint64_t bytes) {
  constexpr std::uint64_t kBesides = 8192;  // of a file and its directory
  if (watched_ == 0) return true;
  unlooked_ += bytes + kBesides;
  if (unlooked_ < watched_ / 4 && !full_) return true;
  full_ = free_of(file) < watched_ + bytes;
  unlooked_ = 0;
  return !full_;
}

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::posix
