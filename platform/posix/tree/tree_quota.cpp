#include "platform/posix/tree/tree_quota.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <utility>

#include "opdump/base/fnv.hpp"
#include "opdump/base/text.hpp"
#include "opdump/format/digest_table.hpp"
#include "opdump/format/journal_lines.hpp"
#include "opdump/format/statistic_table.hpp"
#include "opdump/impl/drain/dump_name.hpp"
#include "platform/posix/impl/write_all.hpp"
#include "platform/posix/tree/short_journal.hpp"
#include "platform/posix/tree/tree_files.hpp"

namespace opdump::posix {
inline namespace OPDUMP_NAMESPACE {
namespace {

constexpr std::string_view kRemovedSuffix = ".removed";
constexpr std::size_t kTimeDigits = 14;
constexpr int kOpenBelow = O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW;

/// The number that `text` is when it is made of digits alone, 0 otherwise.
std::uint64_t number_of(std::string_view text) {
  std::uint64_t number = 0;
  for (const char c : text) {
    if (c < '0' || c > '9' || number > UINT64_MAX / 10 - 1) return 0;
    number = number * 10 + static_cast<std::uint64_t>(c - '0');
  }
  return number;
}

/// The time that a dump's directory is named after, 0 when `name` is no such name.
std::uint64_t time_of(std::string_view name) {
  return name.size() == kTimeDigits ? number_of(name) : 0;
}

ObjectFacts facts_of(const ObjectName& name) {
  return name.facts;
}

/// Bytes of what is above the dump's own directory, '/' included: nothing, or that of a rank.
std::size_t bytes_above_dump(const ObjectName& name) {
  const std::size_t bytes = facts_of(name).dump_bytes;
  return bytes < kTimeDigits ? 0 : bytes - kTimeDigits;
}

/// Microseconds of the moment a record was made: from its name, or when a number stands for that, from its file.
std::uint64_t stamp_of(std::string_view name, const struct stat& status) {
  std::uint64_t stamp = 0;
  for (std::size_t dot; (dot = name.find('.')) != name.npos;) {
    name.remove_prefix(dot + 1);
    const std::string_view part = name.substr(0, name.find('.'));
    if (part.size() != NameTime::kBytes) continue;
    if (const std::uint64_t number = number_of(part); number != 0) stamp = number;
  }
  if (stamp != 0) return stamp;
  return static_cast<std::uint64_t>(status.st_mtim.tv_sec) * 1'000'000 +
         static_cast<std::uint64_t>(status.st_mtim.tv_nsec) / 1000;
}

constexpr auto kLeaveAlone = [](int, const char*) {};

}  // namespace

/// A file that a walk has come by.
struct TreeQuota::Found {
  int directory;
  const char* name;
  std::string_view path;  ///< below the directory where the walk began
  const struct stat& status;

  std::uint64_t bytes() const { return static_cast<std::uint64_t>(status.st_size); }
  bool is_table() const { return std::string_view(name) == kStatisticTableName; }
};

/// Comes by all regular files below a directory. Without following links, and no deeper than any dump is.
class TreeQuota::Walk {
 public:
  /// Calls `use(Found)` for each, and `leave(parent, name)` for each directory when it is done. Takes over
  /// `directory`.
  template <class Use, class Leave>
  void go(UniqueFd directory, const Use& use, const Leave& leave) {
    const int fd = fcntl(directory.get(), F_DUPFD_CLOEXEC, 0);
    DIR* open = fd < 0 ? nullptr : fdopendir(fd);
    if (open == nullptr) {
      if (fd >= 0) close(fd);
      return;
    }
    rewinddir(open);
    const std::size_t above = bytes_;
    while (const dirent* entry = readdir(open)) {
      const std::string_view name = entry->d_name;
      struct stat status;
      if (name == "." || name == ".." || above + name.size() + 1 > sizeof path_ ||
          fstatat(directory.get(), entry->d_name, &status, AT_SYMLINK_NOFOLLOW) != 0)
        continue;
      name.copy(path_ + above, name.size());
      bytes_ = above + name.size();
      if (S_ISREG(status.st_mode)) {
        use(Found{directory.get(), entry->d_name, {path_, bytes_}, status});
      } else if (S_ISDIR(status.st_mode) && depth_ < kMaxDepth) {
        path_[bytes_++] = '/';
        ++depth_;
        UniqueFd next(openat(directory.get(), entry->d_name, kOpenBelow));
        if (next) go(std::move(next), use, leave);
        --depth_;
        leave(directory.get(), entry->d_name);
      }
      bytes_ = above;
    }
    closedir(open);
  }

 private:
  static constexpr int kMaxDepth = 8;

  char path_[TreeQuota::kMaxPathBytes];
  std::size_t bytes_ = 0;
  int depth_ = 0;
};

namespace {

bool holds_only(int directory, std::string_view file) {
  const int fd = openat(directory, ".", kOpenBelow);
  DIR* open = fd < 0 ? nullptr : fdopendir(fd);
  if (open == nullptr) {
    if (fd >= 0) close(fd);
    return false;
  }
  bool only = true;
  while (const dirent* entry = only ? readdir(open) : nullptr) {
    const std::string_view name = entry->d_name;
    only = name == "." || name == ".." || name == file;
  }
  closedir(open);
  return only;
}

/// Calls `use(name, time)` for the directories in `base` whose names are times, with or without `suffix`.
template <class Use>
void for_each_dump(int base, std::string_view suffix, Use use) {
  const int fd = openat(base, ".", kOpenBelow);
  DIR* open = fd < 0 ? nullptr : fdopendir(fd);
  if (open == nullptr) {
    if (fd >= 0) close(fd);
    return;
  }
  while (const dirent* entry = readdir(open)) {
    std::string_view name = entry->d_name;
    if (!name.ends_with(suffix)) continue;
    name.remove_suffix(suffix.size());
    if (const std::uint64_t time = time_of(name); time != 0) use(entry->d_name, time);
  }
  closedir(open);
}

}  // namespace

bool TreeQuota::is_journal(const ObjectName& name) {
  return build::kLean ? name.file.ends_with(kJournalSuffix) : facts_of(name).kind == ObjectKind::journal;
}

bool TreeQuota::enter(const ObjectName& name) {
  const std::string_view above = name.directory.substr(0, bytes_above_dump(name));
  const bool has_own = facts_of(name).dump_bytes != 0;
  const std::uint64_t time = has_own ? number_of(name.directory.substr(above.size(), kTimeDigits)) : 0;
  const std::size_t bytes = name.root.size() + 1 + above.size();
  if (bytes + 1 > sizeof base_path_) return false;
  char path[sizeof base_path_];
  name.root.copy(path, name.root.size());
  path[name.root.size()] = '/';
  above.copy(path + name.root.size() + 1, above.size());
  path[bytes] = '\0';
  if (!base_ || whole_ != (time == 0) ||
      std::string_view(path, bytes) != std::string_view(base_path_, base_bytes_)) {
    let_go();
    base_.reset(openat(here_, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!base_) return false;
    std::memcpy(base_path_, path, bytes + 1);
    base_bytes_ = bytes;
    whole_ = time == 0;
    scan();
  }
  if (time != time_) {
    last_dump_ = std::move(dump_);
    forget_journal();
    time_ = time;
  }
  return true;
}

void TreeQuota::hold() {
  if (!limited() || dump_ || time_ == 0) return;
  char name[kTimeDigits + 1];
  TextWriter(name).add_decimal(time_, kTimeDigits);
  name[kTimeDigits] = '\0';
  dump_.reset(openat(base_.get(), name, kOpenBelow));
  if (dump_) flock(dump_.get(), LOCK_SH | LOCK_NB);
}

void TreeQuota::let_go() {
  dump_.reset();
  last_dump_.reset();
  forget_journal();
  time_ = 0;
}

void TreeQuota::forget_journal() {
  journal_[0] = '\0';
  journal_made_ = false;
  told_from_ = short_bytes_ = short_digests_ = digests_behind_ = 0;
}

void TreeQuota::scan() {
  for_each_dump(base_.get(), kRemovedSuffix, [this](const char* name, std::uint64_t) { remove_dump(name); });
  files_ = 0;
  bytes_ = 0;
  if (whole_) return count_below(UniqueFd(openat(base_.get(), ".", kOpenBelow)));
  for_each_dump(base_.get(), {}, [this](const char* name, std::uint64_t) {
    count_below(UniqueFd(openat(base_.get(), name, kOpenBelow)));
  });
}

void TreeQuota::count_below(UniqueFd directory) {
  const auto count = [this](const Found& file) {
    ++files_;
    bytes_ += file.bytes();
  };
  if (directory) Walk().go(std::move(directory), count, kLeaveAlone);
}

bool TreeQuota::fits(const Need& need, Kind kind) const {
  // Before a dump has its journal, records leave a file for it.
  const std::uint64_t files = files_ + need.files + (has_journal_ && !journal_made_ ? 1 : 0);
  if (limits_.max_files != 0 && kind == Kind::record && files > limits_.max_files) return false;
  const std::uint64_t max_bytes = kind == Kind::journal ? limits_.max_bytes : record_bytes();
  if (limits_.max_bytes != 0 && bytes_ + need.bytes > max_bytes) return false;
  return kind == Kind::journal ||
         leaves_free(need, limits_.reserve_bytes + limits_.reserve_bytes / kForJournals);
}

bool TreeQuota::leaves_free(const Need& need, std::uint64_t reserve) const {
  struct statvfs status;
  if (reserve == 0 || fstatvfs(base_.get(), &status) != 0) return true;
  const std::uint64_t free = std::uint64_t{status.f_bavail} * status.f_frsize;
  return free >= reserve + need.bytes + need.files * status.f_frsize;
}

std::uint64_t TreeQuota::journal_room() const {
  if (limits_.max_bytes == 0) return UINT64_MAX;
  return limits_.max_bytes - std::min(limits_.max_bytes, bytes_);
}

bool TreeQuota::is_short_for_journals(std::uint64_t more) const {
  constexpr std::uint64_t kMost = 4096;
  if (limits_.keep == Keep::newest) return false;
  const std::uint64_t margin = std::min(kMost, journal_share() / 4);
  if (limits_.max_bytes != 0 && journal_room() < more + margin) return true;
  return !leaves_free({}, limits_.reserve_bytes);
}

Status TreeQuota::admit_file(const ObjectName& name) {
  if (!limited() || !enter(name)) return Status::ok;
  return admit({.files = 1}, Kind::record);
}

Status TreeQuota::admit_rows(bool is_new, std::uint64_t bytes) {
  if (!limited()) return Status::ok;
  return admit({.files = is_new ? 1u : 0u, .bytes = bytes}, Kind::record);
}

Status TreeQuota::admit(const Need& need, Kind kind) {
  if (fits(need, kind)) return Status::ok;
  make_room(need);
  if (fits(need, kind)) return Status::ok;
  if (kind == Kind::record) ++counts_.refused;
  return Status::quota_exceeded;
}

Status TreeQuota::admit_bytes(std::uint64_t had, std::uint64_t more) {
  if (!limited()) return Status::ok;
  const Need need = {.bytes = more};
  if (fits(need, Kind::record)) return Status::ok;
  if (limits_.max_bytes == 0 || had + more <= record_bytes()) make_room(need);
  if (fits(need, Kind::record)) return Status::ok;
  ++counts_.refused;
  return Status::quota_exceeded;
}

Status TreeQuota::admit_appended(const ObjectName& name, std::uint64_t more) {
  if (!limited() || !enter(name)) return Status::ok;
  if (is_journal(name)) {
    told_from_ = bytes_of(kJournalSuffix);
    return admit({.bytes = more}, Kind::journal);
  }
  if (name.file == kStatisticTableName) {
    const std::string_view below = name.directory.substr(facts_of(name).dump_bytes);
    table_ = fnv1a(name.file, fnv1a("/", fnv1a(below.substr(below.starts_with('/') ? 1 : 0))));
  }
  return admit({.bytes = more}, Kind::record);
}

void TreeQuota::take_back(std::uint64_t files, std::uint64_t bytes) {
  files_ -= files < files_ ? files : files_;
  bytes_ -= bytes < bytes_ ? bytes : bytes_;
}

void TreeQuota::make_room(const Need& need) {
  if (limits_.keep != Keep::newest) return;
  std::uint64_t after = 0;
  while (!fits(need, Kind::record) && remove_oldest_dump(after)) {
  }
  tell_removed_dumps();
  // A journal of gaps may have no other lines than those that tell of removals.
  if (!fits(need, Kind::record)) shorten();
  if (!fits(need, Kind::record) && dump_ && (!has_journal_ || journal_[0] != '\0'))
    remove_oldest_records(need);
}

/// Removes the oldest dump that is younger than `after` and older than the one being written, unless somebody
/// writes it. False when there is none.
bool TreeQuota::remove_oldest_dump(std::uint64_t& after) {
  std::uint64_t oldest = 0;
  for_each_dump(base_.get(), {}, [&](const char*, std::uint64_t time) {
    const bool is_older = time > after && (time_ == 0 || time < time_);
    if (is_older && (oldest == 0 || time < oldest)) oldest = time;
  });
  if (oldest == 0) return false;
  after = oldest;
  char name[kTimeDigits + 1];
  TextWriter(name).add_decimal(oldest, kTimeDigits);
  name[kTimeDigits] = '\0';
  UniqueFd dump(openat(base_.get(), name, kOpenBelow));
  if (!dump || flock(dump.get(), LOCK_EX | LOCK_NB) != 0) return true;
  char removed[kTimeDigits + kRemovedSuffix.size() + 1];
  std::snprintf(removed, sizeof removed, "%s%s", name, kRemovedSuffix.data());
  if (renameat(base_.get(), name, base_.get(), removed) != 0) return true;
  ++counts_.removed_dumps;
  if (first_removed_ == 0) first_removed_ = oldest;
  last_removed_ = oldest;
  remove_dump(removed);
  return true;
}

void TreeQuota::remove_dump(const char* name) {
  const auto remove = [this](const Found& file) { remove_file(file.directory, file.name, file.bytes()); };
  const auto remove_directory = [](int parent, const char* directory) {
    unlinkat(parent, directory, AT_REMOVEDIR);
  };
  UniqueFd dump(openat(base_.get(), name, kOpenBelow));
  if (dump) Walk().go(std::move(dump), remove, remove_directory);
  unlinkat(base_.get(), name, AT_REMOVEDIR);
}

/// What is over the limits with `need`, and an eighth of them more, so that not every record costs a scan.
TreeQuota::Need TreeQuota::shortage(const Need& need) const {
  Need shortage;
  if (limits_.max_files != 0 && files_ + need.files > limits_.max_files)
    shortage.files = files_ + need.files - limits_.max_files + limits_.max_files / 8;
  if (limits_.max_bytes != 0 && bytes_ + need.bytes > record_bytes())
    shortage.bytes = bytes_ + need.bytes - record_bytes() + limits_.max_bytes / 8;
  if (shortage.files == 0 && shortage.bytes == 0) shortage.bytes = need.bytes + limits_.reserve_bytes / 8 + 1;
  return shortage;
}

void TreeQuota::remove_oldest_records(const Need& need) {
  const std::uint64_t end = oldest_records_end(shortage(need));
  const auto remove = [&](const Found& file) {
    if (!may_go(file) || stamp_of(file.name, file.status) >= end) return;
    // First told, then done: what is told and still there is no harm.
    if (has_journal_ && !tell_removed(file.path)) return;
    if (remove_file(file.directory, file.name, file.bytes())) ++counts_.removed_records;
  };
  const auto remove_if_empty = [this](int parent, const char* name) {
    if (unlinkat(parent, name, AT_REMOVEDIR) != 0) remove_with_mapping(parent, name);
  };
  if (UniqueFd dump(openat(dump_.get(), ".", kOpenBelow)); dump)
    Walk().go(std::move(dump), remove, remove_if_empty);
}

/// The time before which at least `wanted` of the records of the dump that is being written were made, and
/// not many more.
std::uint64_t TreeQuota::oldest_records_end(const Need& wanted) const {
  const auto for_each_stamp = [this](auto use) {
    const auto use_stamp = [this, &use](const Found& file) {
      if (may_go(file)) use(stamp_of(file.name, file.status), file.bytes());
    };
    if (UniqueFd dump(openat(dump_.get(), ".", kOpenBelow)); dump)
      Walk().go(std::move(dump), use_stamp, kLeaveAlone);
  };
  std::uint64_t first = UINT64_MAX;
  std::uint64_t last = 0;
  for_each_stamp([&](std::uint64_t stamp, std::uint64_t) {
    if (stamp < first) first = stamp;
    if (stamp > last) last = stamp;
  });
  // Sorts by time into bins, and the bin where it is enough again, until that is small.
  Need found;
  while (first <= last) {
    constexpr std::uint64_t kBins = 64;
    const std::uint64_t width = (last - first) / kBins + 1;
    Need bins[kBins];
    for_each_stamp([&](std::uint64_t stamp, std::uint64_t bytes) {
      if (stamp < first || stamp > last) return;
      Need& bin = bins[(stamp - first) / width];
      ++bin.files;
      bin.bytes += bytes;
    });
    std::uint64_t i = 0;
    for (; i < kBins; ++i) {
      if (found.files + bins[i].files >= wanted.files && found.bytes + bins[i].bytes >= wanted.bytes) break;
      found.files += bins[i].files;
      found.bytes += bins[i].bytes;
    }
    if (i == kBins) return last + 1;
    const bool is_small =
        bins[i].files <= 1 || (bins[i].files <= wanted.files && bins[i].bytes <= wanted.bytes);
    if (width == 1 || is_small) return first + (i + 1) * width;
    first += i * width;
    last = first + width - 1;
  }
  return 0;
}

/// Removes a directory that holds nothing but the names of files that are gone.
void TreeQuota::remove_with_mapping(int parent, const char* name) {
  const UniqueFd directory(openat(parent, name, kOpenBelow));
  if (!directory) return;
  constexpr int kFlags = O_RDWR | O_NONBLOCK | O_NOFOLLOW;
  const UniqueFd mapping(open_at(directory.get(), kMappingFile.data(), kFlags));
  struct stat status;
  // Whoever adds a row claims its file before, and waits for this lock.
  if (!mapping || flock(mapping.get(), LOCK_EX | LOCK_NB) != 0 || fstat(mapping.get(), &status) != 0) return;
  if (!holds_only(directory.get(), kMappingFile)) return;
  remove_file(directory.get(), kMappingFile.data(), static_cast<std::uint64_t>(status.st_size));
  unlinkat(parent, name, AT_REMOVEDIR);
}

bool TreeQuota::remove_file(int directory, const char* name, std::uint64_t bytes) {
  if (unlinkat(directory, name, 0) != 0) return false;
  take_back(1, bytes);
  ++counts_.removed_files;
  counts_.removed_bytes += bytes;
  return true;
}

/// Whether the file is a record or holds some, and may be removed for newer ones.
bool TreeQuota::may_go(const Found& file) const {
  if (file.is_table()) return fnv1a(file.path) != table_;
  const std::string_view name(file.name);
  return !name.ends_with(".journal") && !name.ends_with(".model.json") && !name.ends_with(".part") &&
         !name.ends_with(".digests") && name != kMappingFile;
}

void TreeQuota::tell_in(const ObjectName& name, Fsync fsync, bool syncs_each) {
  if (!limited()) return;
  hold();
  journal_made_ = journal_made_ || is_journal(name);
  if (!dump_ || !is_journal(name) || name.file.size() >= sizeof journal_) return;
  journal_[name.file.copy(journal_, sizeof journal_ - 1)] = '\0';
  tell_removed_dumps();
  is_durable_ = fsync != Fsync::never;
  syncs_each_ = syncs_each;
  if (limits_.keep == Keep::newest) shorten();
}

std::uint64_t TreeQuota::journal_share() const {
  constexpr std::uint64_t kOtherwise = std::uint64_t{1} << 20;
  return limits_.max_bytes != 0 ? limits_.max_bytes / kForJournals : kOtherwise;
}

/// Of the journal of the dump that is being written, or of the file of digests beside it; 0: there is none.
std::uint64_t TreeQuota::bytes_of(std::string_view suffix) const {
  if (limits_.keep != Keep::newest || !dump_ || journal_[0] == '\0') return 0;
  char name[sizeof journal_ + kDigestSuffix.size()];
  const std::string_view journal(journal_);
  *put_text(put_text(name, journal.substr(0, journal.rfind('.'))), suffix) = '\0';
  struct stat status;
  if (fstatat(dump_.get(), name, &status, AT_SYMLINK_NOFOLLOW) != 0) return 0;
  return static_cast<std::uint64_t>(status.st_size);
}

/// Has the journal forget what is gone, if it has grown.
void TreeQuota::shorten() {
  constexpr std::uint64_t kMore = 4;
  const std::uint64_t bytes = bytes_of(kJournalSuffix);
  const std::uint64_t share = journal_share();
  const std::uint64_t digests = bytes_of(kDigestSuffix);
  const bool is_large = bytes > share && bytes / 2 > short_bytes_;
  if (!is_large && (digests <= kMore * share || digests - share <= short_digests_)) return;
  ShortenedJournal done;
  const int error = shorten_journal(dump_.get(), journal_,
                                    {.told_from = told_from_,
                                     .most_bytes = kMore * share,
                                     .most_digests = kMore * share,
                                     .digests_behind = digests_behind_,
                                     .is_durable = is_durable_,
                                     .syncs_directory = syncs_each_},
                                    done);
  // Not at each line again.
  short_bytes_ = error == 0 ? done.bytes : (bytes + share) / 2;
  short_digests_ = digests - done.digest_bytes_gone;
  if (error != 0) return;
  digests_behind_ = done.digests_behind;
  take_back(0, done.old_bytes + done.digest_bytes_gone);
  add(0, done.bytes);
}

bool TreeQuota::tell_removed(std::string_view path) {
  char memory[kMaxPathBytes + 16];
  TextWriter line(memory);
  line.add(kJournalStart<JournalLineKind::removed>).add(path).add('\n');
  return append_line(line.text());
}

void TreeQuota::tell_removed_dumps() {
  if (first_removed_ == 0 || journal_[0] == '\0') return;
  char memory[96];
  TextWriter line(memory);
  line.add(kJournalStart<JournalLineKind::dumps_removed>)
      .add_decimal(counts_.removed_dumps - told_dumps_)
      .add(',');
  line.add_decimal(first_removed_, kTimeDigits).add(',').add_decimal(last_removed_, kTimeDigits).add('\n');
  if (!append_line(line.text())) return;
  told_dumps_ = counts_.removed_dumps;
  first_removed_ = 0;
}

bool TreeQuota::append_line(std::string_view line) {
  UniqueFd journal(openat(dump_.get(), journal_, O_WRONLY | O_APPEND | O_CLOEXEC | O_NOFOLLOW));
  if (!journal) return false;
  const Bytes part = as_bytes(line);
  if (write_all(journal.get(), {&part, 1}) != 0) return false;
  add(0, line.size());
  return true;
}

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::posix
