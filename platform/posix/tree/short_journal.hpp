#pragma once
#include <cstdint>
#include <span>
#include <string_view>

#include "opdump/base/bytes.hpp"

namespace opdump::posix {
inline namespace OPDUMP_NAMESPACE {

inline constexpr std::string_view kJournalSuffix = ".journal";

/// How `shorten_journal` is to shorten a journal.
struct JournalShortening {
  std::uint64_t told_from =
      0;  ///< lines `removed` of named files from this byte on stay: those may have no line yet
  std::uint64_t most_bytes = 0;    ///< past it, losses in the older half of the journal are forgotten as well
  std::uint64_t most_digests = 0;  ///< past it, the older half of the file of digests goes
  std::uint64_t digests_behind = 0;  ///< bytes at the beginning of that file of which no line tells any more
  bool is_durable = false;           ///< the new journal is on the disk before it replaces the old one
  bool syncs_directory = false;      ///< and its name before lines are added to it
  bool losses_alone = false;         ///< see fold_losses
  bool drops_extras = false;         ///< lines `op` and `never` go as well
};

/// What became of the files; bytes as they were and as they are.
struct ShortenedJournal {
  std::uint64_t old_bytes = 0;
  std::uint64_t bytes = 0;
  std::uint64_t digest_bytes_gone = 0;
  std::uint64_t digests_behind = 0;
};

/// Replaces the journal `name` in `directory` by one that no longer tells of each record that is gone: runs of
/// such records, and of losses before the first record that is there, become lines `forgotten` (journal.hpp),
/// and lines `removed` go; of lines of firings and of triggers' counts the latest stay. Written aside as
/// `{name}.part` and renamed: a crash or a power cut leaves one of the two journals whole. Where the file of digests
/// beside it is too large, its first pieces go with the lines that tell of them, after those. Returns an errno, 0
/// for success: after an error the journal is as before. Takes 100 KiB from the system while it works, none from the
/// heap.
[[nodiscard]] int shorten_journal(int directory, const char* name, const JournalShortening& how,
                                  ShortenedJournal& done);

/// Adds `lines` to the journal `name` in `directory`, all or nothing; behind `tail` bytes, where a line begins,
/// runs of losses become lines `forgotten`, and firings likewise, so that it grows no further than these have new
/// counts and other lines come. Beyond `most_growth` bytes lines `op` and `never` go as well. `bytes` becomes the
/// journal's size. Returns an errno, 0 for success: ENOSPC also where it would grow further. Takes 90 KiB from the
/// system while it works, and twice the bytes behind `tail`.
[[nodiscard]] int fold_losses(int directory, const char* name, std::uint64_t tail,
                              std::span<const Bytes> lines, std::uint64_t most_growth, std::uint64_t& bytes);

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::posix
