#pragma once
#include <sys/stat.h>

#include <span>

#include "opdump/base/bytes.hpp"
#include "platform/posix/base/unique_fd.hpp"
#include "platform/posix/tree/journal_room.hpp"

namespace opdump::posix {
inline namespace OPDUMP_NAMESPACE {

/// What became of a file that lines were added to.
struct Appended {
  bool made = false;        ///< there was no such file
  std::int64_t growth = 0;  ///< in bytes
};

/// The file that lines are added to, which stays open from one line to the next: opening it takes longer than
/// the line. Each call returns an errno, 0 for success.
class AppendedFile {
 public:
  /// Adds `parts` to the file called `name`, all or nothing; where that is another one than the last time,
  /// because the name is or somebody moved or deleted the file, it is opened or made.
  int append(int directory, const char* name, std::span<const Bytes> parts, bool syncs_each, Appended& done) {
    return append(directory, name, parts, syncs_each, nullptr, false, 0, done);
  }

  /// The same of lines of a journal, for which `room` keeps room. When that runs short, or the limits do,
  /// losses are counted from then on (fold_losses), so that the journal grows by at most `most_growth`.
  int append_journal(int directory, const char* name, std::span<const Bytes> parts, bool syncs_each,
                     JournalRoom& room, bool is_short, std::uint64_t most_growth, Appended& done) {
    return append(directory, name, parts, syncs_each, &room, is_short, most_growth, done);
  }

  /// Tells the journal, if that is what lines were added to last, that errno `code` kept what it names from being
  /// durable. Returns the bytes that it grows by.
  std::size_t tell_unsynced(int code);

  /// Errors that a file system keeps until then.
  int close();

 private:
  int append(int directory, const char* name, std::span<const Bytes> parts, bool syncs_each,
             JournalRoom* room, bool is_short, std::uint64_t most_growth, Appended& done);
  int open(int directory, const char* name, struct stat& status);

  UniqueFd file_;
  bool is_journal_ = false;
  dev_t device_ = 0;
  ino_t inode_ = 0;
};

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::posix
