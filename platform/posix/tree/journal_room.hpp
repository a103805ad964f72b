#pragma once
#include <sys/stat.h>

#include <cstdint>

#include "opdump/knobs.hpp"

namespace opdump::posix {
inline namespace OPDUMP_NAMESPACE {

/// Keeps room on the disk for the next lines of journals, so that a full disk refuses records and still takes the
/// lines that tell of them: a sixteenth of the file system, 4 to 64 KiB for each journal that is not closed. Linux
/// reserves it behind the end of the journal (FALLOC_FL_KEEP_SIZE), where it is in no file's size; on ext4 and XFS a
/// journal whose writer crashed keeps it until the file is removed. Where the file system has no such call, records
/// are refused while less than that is free, which is looked up after each quarter of it.
class JournalRoom {
 public:
  /// What is kept for one journal.
  struct Room {
    dev_t device = 0;
    ino_t inode = 0;
    std::uint64_t most = 0;
    std::uint64_t end = 0;   ///< as far as the journal may grow on a full disk; 0: it never had room
    std::uint64_t tail = 0;  ///< from here on its losses are counted, not named; 0: they are named
  };

  /// Of the journal, whose status this is.
  Room& of(const struct stat& status);

  /// Whether the journal may take `more` bytes as they are. Otherwise the disk is full and half of the room is used.
  bool take(int file, const struct stat& status, std::uint64_t more);

  /// After the journal's end was moved to `size`.
  void take_again(int file, Room& room, std::uint64_t size);

  /// Lets others have the room behind the journal, which is closed at `size` bytes.
  void give_back(int file, Room& room, std::uint64_t size);

  /// Whether `file` may take `bytes` of a record.
  bool leaves(int file, std::uint64_t bytes);

 private:
  static constexpr std::size_t kMostJournals = 4;

  Room rooms_[kMostJournals];
  std::size_t next_ = 0;
  std::uint64_t watched_ = 0;  ///< the room where the file system cannot reserve any; 0: it can
  std::uint64_t unlooked_ = 0;
  bool full_ = false;
};

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::posix
