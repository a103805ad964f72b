#pragma once
#include <dirent.h>

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "opdump/port/sink.hpp"
#include "opdump/types/config.hpp"
#include "platform/posix/base/unique_fd.hpp"

namespace opdump::posix {
inline namespace OPDUMP_NAMESPACE {

/// How much room the dumps of one root may take; 0: no limit.
struct TreeLimits {
  std::uint64_t max_bytes = 0;      ///< sum of all file sizes
  std::uint64_t max_files = 0;      ///< journals and `mapping.csv` included
  std::uint64_t reserve_bytes = 0;  ///< of the file system, left free
  Keep keep = Keep::oldest;
};

/// Behind the time in the name of a dump's directory whose files go for those of newer dumps.
inline constexpr std::string_view kRemovedSuffix = ".removed";
bool is_removed_dump(std::string_view name);

/// What the limits have cost so far.
struct QuotaCounts {
  std::uint64_t refused = 0;  ///< objects
  std::uint64_t removed_dumps = 0;
  std::uint64_t removed_files = 0;  ///< those of removed dumps included
  std::uint64_t removed_bytes = 0;
  std::uint64_t removed_records = 0;  ///< of a dump that was being written, one by one
};

/// Keeps the dumps below one root within limits. A dump is a directory `{root}/{14 digits}` (or that below
/// torchair's directory of a rank); nothing else is counted or removed. In a layout without a directory per
/// dump, as MindSpore's, every file below the root counts and no record is removed. Files that others write
/// meanwhile are not seen before the next scan.
///
/// The facts in an object's name say what the object is and which dump it belongs to. With OPDUMP_SMALL_CODE
/// there are no facts: all files below the root count, and nothing can be removed.
///
/// *Keep oldest.* An object that does not fit is refused.
///
/// *Keep newest.* The oldest dumps go first, each as a whole: it is renamed to `{14 digits}.removed`, and its
/// files go as room is needed and up to eight more with each object, the rest with the sink's `sync`; they count until
/// then, and what a crash leaves goes with the objects of the next program. A dump that another sink with limits is writing, in this or
/// another process, stays. If that is not enough, the oldest records of the dump that is being written go; its
/// journal names them. That begins when a sixteenth of the limit is left, takes a sixteenth at a time, and eight of
/// them at most with each object, or as many as an object needs that is larger. Cards of models stay with
/// their dump, and a `mapping.csv` stays while another file is beside it. An object larger than the limit is
/// refused and removes nothing.
///
/// Accounts give way as well: a journal that is larger than a sixteenth of `max_bytes` (1 MiB where that is
/// 0), and twice as large as it was left the last time, is shortened (shorten_journal), and so is a file of
/// digests of four times that size. Until the new one has taken its place both are there, and only the old one
/// counts. A table of statistics goes like a record, unless its rows were the last to be added.
///
/// A sixteenth of `max_bytes`, a sixteenth of `reserve_bytes` on top of it, and one file are kept for
/// journals, which may use the room that is reserved on the disk (JournalRoom) in any case. With `keep oldest` a journal is not shortened: when that room runs short, it counts losses
/// and no longer names them (fold_losses). Rows of a table are refused like records.
///
/// *Costs.* One scan of the dumps at the first object; later a look at 256 entries at most with each object, or at
/// more if it needs more room than was made. The C library's memory for open directories, one per level.
class TreeQuota {
 public:
  static constexpr std::size_t kMaxPathBytes = 1024;  ///< of a root, and of a path below it

  /// `has_journal`: records of the dump being written are removed only if its journal can name them.
  void configure(const TreeLimits& limits, bool has_journal) {
    limits_ = limits;
    has_journal_ = has_journal;
  }

  /// From now on a relative root is relative to the directory `here`, which the caller keeps open.
  void stay_in(int here) {
    here_ = here;
    base_.reset();
  }

  /// By what is known of it; with OPDUMP_SMALL_CODE by its name.
  static bool is_journal(const ObjectName& name);

  bool limited() const {
    return limits_.max_bytes != 0 || limits_.max_files != 0 || limits_.reserve_bytes != 0;
  }

  /// Makes room for one more file below `name`'s directory. `quota_exceeded` when there is none.
  [[nodiscard]] Status admit_file(const ObjectName& name);

  /// Makes room for `more` bytes of an object that has `had`. `quota_exceeded` when there is none.
  [[nodiscard]] Status admit_bytes(std::uint64_t had, std::uint64_t more);

  /// The same for `more` bytes appended to a file; a journal may use the room kept for journals.
  [[nodiscard]] Status admit_appended(const ObjectName& name, std::uint64_t more);

  /// On a full disk, for a journal that has just been refused: removes some of older dumps under "keep newest". False
  /// when there is nothing to remove.
  [[nodiscard]] bool gives_way();

  /// Bytes that journals may still take.
  std::uint64_t journal_room() const;

  /// Whether `more` bytes of a journal leave it so little that losses are to be counted, no longer named.
  bool is_short_for_journals(std::uint64_t more) const;

  /// Makes room for `bytes` of rows in a `mapping.csv`, which `is_new` or not. `quota_exceeded` when there is none.
  [[nodiscard]] Status admit_rows(bool is_new, std::uint64_t bytes);

  /// Says that the dump's directory exists and is written to: others must not remove it.
  void hold();

  /// Says that no dump is written to any more: others may remove them.
  void let_go();

  /// Says that `name` took lines; if it is a journal, removals are reported there, and it is shortened when it
  /// has grown.
  void tell_in(const ObjectName& name, Fsync fsync, bool syncs_each);

  void add(std::uint64_t files, std::uint64_t bytes) {
    files_ += files;
    bytes_ += bytes;
  }
  void take_back(std::uint64_t files, std::uint64_t bytes);

  const QuotaCounts& counts() const { return counts_; }

 private:
  static constexpr std::uint64_t kForJournals = 16;  ///< the divisor of a limit

  static constexpr std::uint64_t kAhead = 16;  ///< that of what is kept free before it is needed

  struct Found;

  enum class Kind { record, journal, ahead };

  struct Need {
    std::uint64_t files = 0;
    std::uint64_t bytes = 0;
  };

  /// Comes by all regular files below a directory, some at a time. Without following links, and no deeper than any
  /// dump is.
  class Walk {
   public:
    Walk() = default;
    Walk(const Walk&) = delete;
    Walk& operator=(const Walk&) = delete;
    ~Walk() { end(); }

    bool begin(int parent, const char* name);
    void end();
    bool is_open() const { return depth_ != 0; }

    /// Calls `use(Found)` for each, and `leave(parent, name)` for each directory when it is done, until that was
    /// `work` or all: an entry is 1, and what `use` returns on top.
    template <class Use, class Leave>
    void go(std::size_t work, const Use& use, const Leave& leave);

   private:
    struct Level {
      DIR* open;
      std::size_t bytes;  ///< of its path
    };
    static constexpr std::size_t kMaxLevels = 9;

    Level levels_[kMaxLevels];
    std::size_t depth_ = 0;
    char path_[kMaxPathBytes];
  };

  /// For the oldest records of the dump that is being written: sorts by time into bins, and the bin where it is
  /// enough again, until that is small.
  struct Search {
    static constexpr std::uint64_t kBins = 32;
    struct Bin {
      Need found;
      std::uint64_t first = UINT64_MAX;
      std::uint64_t last = 0;
    };

    void look_between(std::uint64_t from, std::uint64_t to);
    void add(std::uint64_t stamp, std::uint64_t bytes);
    bool has_end();

    bool removes = false;     ///< the walk removes what was made before `end`
    std::uint64_t first = 0;  ///< time of the first bin
    std::uint64_t last = 0;
    std::uint64_t end = 0;
    Need wanted;
    Need found;  ///< before the first bin
    Bin bins[kBins];
  };

  bool enter(const ObjectName& name);
  void scan();
  void count_below(const char* name);
  UniqueFd lock_dump(const char* name) const;
  bool fits(const Need& need, Kind kind) const;
  bool leaves_free(const Need& need, std::uint64_t reserve) const;
  Status admit(const Need& need, Kind kind);
  void make_room(const Need& need);
  void work_ahead(bool has_room);
  void stop_removing();
  bool can_remove_records() const;
  std::uint64_t oldest_dump();
  bool remove_oldest_dump();
  bool goes_on_removing();
  void remove_some(std::size_t work);
  bool remove_records(const Need& need, std::size_t work);
  Need shortage(const Need& need) const;
  void remove_with_mapping(int parent, const char* name);
  bool remove_file(int directory, const char* name, std::uint64_t bytes);
  std::uint64_t journal_share() const;
  std::uint64_t bytes_of(std::string_view suffix) const;
  void forget_journal();
  void shorten();
  bool may_go(const Found& file) const;
  bool tell_removed(std::string_view path);
  void tell_removed_dumps();
  bool append_line(std::string_view line);
  std::uint64_t record_bytes() const { return limits_.max_bytes - limits_.max_bytes / kForJournals; }

  TreeLimits limits_;
  bool has_journal_ = true;
  QuotaCounts counts_;
  std::uint64_t files_ = 0;
  std::uint64_t bytes_ = 0;
  bool whole_ = false;  ///< there is no directory per dump: everything below `base_` counts
  int here_ = -1;
  UniqueFd base_;                   ///< the directory that holds the dumps
  std::uint64_t time_ = 0;          ///< of the dump that is being written; 0: it has no such directory
  UniqueFd dump_;                   ///< its directory, locked against removal
  UniqueFd last_dump_;              ///< the same of the one before, which may not be finished yet
  bool has_removed_ = true;         ///< there may be dumps that gave way and are not gone
  UniqueFd removed_;                ///< the directory of one of them, locked
  std::uint64_t removed_time_ = 0;  ///< its name
  std::uint64_t oldest_dump_ = 0;   ///< 0: not known
  std::uint64_t tried_dump_ = 0;    ///< the latest that was to give way
  Walk walk_;                       ///< through `removed_`, or for `search_`
  Search search_;
  std::size_t base_bytes_ = 0;
  char base_path_[kMaxPathBytes];
  char journal_[96] = "";    ///< in `dump_`; empty: not known yet
  bool is_durable_ = false;  ///< see JournalShortening, as its two
  bool syncs_each_ = false;
  bool journal_made_ = false;         ///< of the dump that is being written
  std::uint64_t told_from_ = 0;       ///< its bytes before the latest lines
  std::uint64_t short_bytes_ = 0;     ///< as it was left the last time
  std::uint64_t short_digests_ = 0;   ///< the same of the file of digests
  std::uint64_t digests_behind_ = 0;  ///< see JournalShortening
  std::uint64_t table_ = 0;           ///< hash of the path of the table that took the latest rows
  std::uint64_t told_dumps_ = 0;
  std::uint64_t first_removed_ = 0;  ///< of the removed dumps that no journal names yet
  std::uint64_t last_removed_ = 0;
};

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::posix
