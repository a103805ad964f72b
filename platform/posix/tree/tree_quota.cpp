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
#include "platform/posix/base/write_all.hpp"
#include "platform/posix/tree/short_journal.hpp"
#include "platform/posix/tree/tree_files.hpp"

namespace opdump::posix {
inline namespace OPDUMP_NAMESPACE {
namespace {

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
constexpr std::size_t kWork = 256;       ///< entries at each object
constexpr std::size_t kOneRemoval = 32;  ///< entries that it takes as long as
constexpr std::uint64_t kNone = UINT64_MAX;

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

namespace {

DIR* open_directory(int parent, const char* name) {
  const int fd = openat(parent, name, kOpenBelow);
  DIR* const open = fd < 0 ? nullptr : fdopendir(fd);
  if (open == nullptr && fd >= 0) close(fd);
  return open;
}

bool is_dots(std::string_view name) {
  return name == "." || name == "..";
}

bool holds_only(int directory, std::string_view file) {
  DIR* const open = open_directory(directory, ".");
  if (open == nullptr) return false;
  bool only = true;
  while (const dirent* entry = only ? readdir(open) : nullptr)
    only = is_dots(entry->d_name) || entry->d_name == file;
  closedir(open);
  return only;
}

/// Calls `use(name, time)` for the directories in `base` whose names are times, with or without `suffix`.
template <class Use>
void for_each_dump(int base, std::string_view suffix, Use use) {
  DIR* const open = open_directory(base, ".");
  if (open == nullptr) return;
  while (const dirent* entry = readdir(open)) {
    std::string_view name = entry->d_name;
    if (!name.ends_with(suffix)) continue;
    name.remove_suffix(suffix.size());
    if (const std::uint64_t time = time_of(name); time != 0) use(entry->d_name, time);
  }
  closedir(open);
}

/// Of the directory of a dump, with or without a suffix.
struct DumpName {
  explicit DumpName(std::uint64_t time, std::string_view suffix = "") {
    TextWriter(text).add_decimal(time, kTimeDigits);
    *put_text(text + kTimeDigits, suffix) = '\0';
  }

  char text[kTimeDigits + kRemovedSuffix.size() + 1];
};

}  // namespace

bool is_removed_dump(std::string_view name) {
  return name.ends_with(kRemovedSuffix) && time_of(name.substr(0, name.size() - kRemovedSuffix.size())) != 0;
}

bool TreeQuota::Walk::begin(int parent, const char* name) {
  end();
  levels_[0] = {open_directory(parent, name), 0};
  depth_ = levels_[0].open != nullptr ? 1 : 0;
  return is_open();
}

void TreeQuota::Walk::end() {
  while (depth_ != 0) closedir(levels_[--depth_].open);
}

template <class Use, class Leave>
void TreeQuota::Walk::go(std::size_t work, const Use& use, const Leave& leave) {
  for (std::size_t done = 0; depth_ != 0 && done < work;) {
    const Level at = levels_[depth_ - 1];
    const dirent* const entry = readdir(at.open);
    if (entry == nullptr) {
      ++done;
      closedir(at.open);
      if (--depth_ == 0) return;
      path_[at.bytes - 1] = '\0';
      leave(dirfd(levels_[depth_ - 1].open), path_ + levels_[depth_ - 1].bytes);
      continue;
    }
    const std::string_view name = entry->d_name;
    if (is_dots(name)) continue;
    ++done;
    struct stat status;
    const int directory = dirfd(at.open);
    if (at.bytes + name.size() + 1 > sizeof path_ ||
        fstatat(directory, entry->d_name, &status, AT_SYMLINK_NOFOLLOW) != 0)
      continue;
    std::size_t bytes = at.bytes + name.copy(path_ + at.bytes, name.size());
    if (S_ISREG(status.st_mode)) {
      done += use(Found{directory, entry->d_name, {path_, bytes}, status});
    } else if (S_ISDIR(status.st_mode) && depth_ < kMaxLevels) {
      path_[bytes++] = '/';
      if (DIR* const open = open_directory(directory, entry->d_name)) levels_[depth_++] = {open, bytes};
    }
  }
}

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
    stop_removing();
    forget_journal();
    time_ = time;
  }
  return true;
}

void TreeQuota::hold() {
  if (!limited() || dump_ || time_ == 0) return;
  dump_.reset(openat(base_.get(), DumpName(time_).text, kOpenBelow));
  if (dump_) flock(dump_.get(), LOCK_SH | LOCK_NB);
}

void TreeQuota::let_go() {
  // Of records that go, none is left that is older than one that went; of a dump that goes, nothing.
  while (walk_.is_open() && search_.removes && !removed_) static_cast<void>(remove_records({}, SIZE_MAX));
  while (base_ && goes_on_removing()) remove_some(SIZE_MAX);
  dump_.reset();
  last_dump_.reset();
  stop_removing();
  forget_journal();
  time_ = 0;
}

void TreeQuota::stop_removing() {
  walk_.end();
  removed_.reset();
  removed_time_ = tried_dump_ = oldest_dump_ = 0;
  has_removed_ = true;
}

void TreeQuota::forget_journal() {
  journal_[0] = '\0';
  journal_made_ = false;
  told_from_ = short_bytes_ = short_digests_ = digests_behind_ = 0;
}

void TreeQuota::scan() {
  files_ = 0;
  bytes_ = 0;
  if (whole_) return count_below(".");
  for_each_dump(base_.get(), {}, [this](const char* name, std::uint64_t) { count_below(name); });
  for_each_dump(base_.get(), kRemovedSuffix, [this](const char* name, std::uint64_t) {
    if (lock_dump(name)) count_below(name);
  });
}

void TreeQuota::count_below(const char* name) {
  const auto count = [this](const Found& file) {
    ++files_;
    bytes_ += file.bytes();
    return std::size_t{0};
  };
  Walk walk;
  if (walk.begin(base_.get(), name)) walk.go(SIZE_MAX, count, kLeaveAlone);
}

/// The dump's directory, unless somebody writes it, or removes it.
UniqueFd TreeQuota::lock_dump(const char* name) const {
  UniqueFd dump(openat(base_.get(), name, kOpenBelow));
  if (dump && flock(dump.get(), LOCK_EX | LOCK_NB) != 0) dump.reset();
  return dump;
}

bool TreeQuota::fits(const Need& need, Kind kind) const {
  // Before a dump has its journal, records leave a file for it.
  const std::uint64_t files = files_ + need.files + (has_journal_ && !journal_made_ ? 1 : 0);
  const std::uint64_t ahead = kind == Kind::ahead ? 1 : 0;
  const std::uint64_t max_files = limits_.max_files - ahead * (limits_.max_files / kAhead);
  if (limits_.max_files != 0 && kind != Kind::journal && files > max_files) return false;
  const std::uint64_t max_bytes =
      kind == Kind::journal ? limits_.max_bytes : record_bytes() - ahead * (limits_.max_bytes / kAhead);
  if (limits_.max_bytes != 0 && bytes_ + need.bytes > max_bytes) return false;
  const std::uint64_t reserve = limits_.reserve_bytes;
  return kind == Kind::journal ||
         leaves_free(need, reserve + reserve / kForJournals + ahead * (reserve / kAhead));
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
  // Else `shorten` sees to it.
  if (limits_.keep == Keep::newest && !whole_) return false;
  const std::uint64_t margin = std::min(kMost, journal_share() / 4);
  if (limits_.max_bytes != 0 && journal_room() < more + margin) return true;
  return !leaves_free({}, limits_.reserve_bytes);
}

Status TreeQuota::admit_file(const ObjectName& name) {
  if (!limited() || !enter(name)) return Status::ok;
  const Need need = {.files = 1};
  const bool has_room = fits(need, Kind::ahead);
  const Status status = has_room ? Status::ok : admit(need, Kind::record);
  work_ahead(has_room || fits(need, Kind::ahead));
  return status;
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
  const auto lacks = [&] { return !fits(need, Kind::record); };
  while (lacks() && goes_on_removing()) remove_some(kOneRemoval);
  if (limits_.keep != Keep::newest) return;
  // Objects that are of no dump may make one that gave way again.
  if (whole_) tried_dump_ = oldest_dump_ = 0;
  while (lacks() && remove_oldest_dump()) {
    while (lacks() && goes_on_removing()) remove_some(kOneRemoval);
  }
  tell_removed_dumps();
  // A journal of gaps may have no other lines than those that tell of removals.
  if (lacks()) shorten();
  // A search that is under way may have had less to find than this needs.
  for (int searches = 2; searches != 0 && can_remove_records() && lacks();)
    searches -= remove_records(need, kOneRemoval) ? 0 : 1;
  if (lacks()) tried_dump_ = oldest_dump_ = 0;
}

bool TreeQuota::can_remove_records() const {
  return dump_ && (!has_journal_ || journal_[0] != '\0');
}

/// Before room is short, a little at each object. `has_room`: of the last sixteenth nothing is taken yet.
void TreeQuota::work_ahead(bool has_room) {
  if (goes_on_removing()) return remove_some(kWork);
  if (limits_.keep != Keep::newest || !can_remove_records()) return;
  const bool is_due = (walk_.is_open() && search_.removes) || !has_room;
  if (is_due && oldest_dump() == kNone) static_cast<void>(remove_records({.files = 1}, kWork));
}

/// The oldest dump that is older than the one being written and was not tried yet.
std::uint64_t TreeQuota::oldest_dump() {
  if (oldest_dump_ != 0) return oldest_dump_;
  oldest_dump_ = kNone;
  for_each_dump(base_.get(), {}, [this](const char*, std::uint64_t time) {
    if (time > tried_dump_ && (time_ == 0 || time < time_)) oldest_dump_ = std::min(oldest_dump_, time);
  });
  return oldest_dump_;
}

/// Has the oldest dump give way, unless somebody writes it. False when there is none.
bool TreeQuota::remove_oldest_dump() {
  const std::uint64_t oldest = oldest_dump();
  if (oldest == kNone) return false;
  tried_dump_ = oldest;
  oldest_dump_ = 0;
  const DumpName name(oldest), removed(oldest, kRemovedSuffix);
  const UniqueFd dump = lock_dump(name.text);
  if (!dump || renameat(base_.get(), name.text, base_.get(), removed.text) != 0) return true;
  ++counts_.removed_dumps;
  if (first_removed_ == 0) first_removed_ = oldest;
  last_removed_ = oldest;
  removed_time_ = std::min(removed_time_, oldest - 1);
  has_removed_ = true;
  return true;
}

bool TreeQuota::gives_way() {
  if (limits_.keep != Keep::newest || !limited() || !base_) return false;
  while (!goes_on_removing()) {
    if (!remove_oldest_dump()) {
      tried_dump_ = oldest_dump_ = 0;
      return false;
    }
  }
  remove_some(kOneRemoval);
  return true;
}

/// Whether there is something of dumps that gave way. What cannot be removed is not tried again at each object.
bool TreeQuota::goes_on_removing() {
  while (!removed_ && has_removed_) {
    std::uint64_t next = kNone;
    for_each_dump(base_.get(), kRemovedSuffix, [this, &next](const char*, std::uint64_t time) {
      if (time > removed_time_) next = std::min(next, time);
    });
    has_removed_ = next != kNone;
    if (!has_removed_) break;
    removed_time_ = next;
    const DumpName name(next, kRemovedSuffix);
    removed_ = lock_dump(name.text);
    if (removed_ && !walk_.begin(removed_.get(), ".")) removed_.reset();
  }
  return static_cast<bool>(removed_);
}

void TreeQuota::remove_some(std::size_t work) {
  const auto remove = [this](const Found& file) {
    remove_file(file.directory, file.name, file.bytes());
    return kOneRemoval;
  };
  walk_.go(work, remove, [](int parent, const char* name) { unlinkat(parent, name, AT_REMOVEDIR); });
  if (walk_.is_open()) return;
  unlinkat(base_.get(), DumpName(removed_time_, kRemovedSuffix).text, AT_REMOVEDIR);
  removed_.reset();
}

/// What is over the limits with `need`, less what is kept free ahead, and as much again, so that not every record
/// costs a search.
TreeQuota::Need TreeQuota::shortage(const Need& need) const {
  constexpr auto over = [](std::uint64_t used, std::uint64_t max, std::uint64_t limit) {
    const std::uint64_t ahead = limit / kAhead;
    return limit != 0 && used + ahead > max ? used + ahead - max + ahead : 0;
  };
  Need shortage = {.files = over(files_ + need.files, limits_.max_files, limits_.max_files),
                   .bytes = over(bytes_ + need.bytes, record_bytes(), limits_.max_bytes)};
  if (shortage.files == 0 && shortage.bytes == 0) shortage.bytes = need.bytes + limits_.reserve_bytes / 8 + 1;
  return shortage;
}

/// Goes on looking for the oldest records of the dump that is being written, and then removing them. False when
/// those are gone.
bool TreeQuota::remove_records(const Need& need, std::size_t work) {
  Search& search = search_;
  if (!walk_.is_open()) {
    search.removes = false;
    search.wanted = shortage(need);
    search.found = {};
    search.look_between(0, UINT64_MAX);
    tried_dump_ = oldest_dump_ = 0;
    if (!walk_.begin(dump_.get(), ".")) return false;
  }
  if (search.removes) {
    const auto remove = [&](const Found& file) {
      if (!may_go(file) || stamp_of(file.name, file.status) >= search.end) return std::size_t{0};
      // First told, then done: what is told and still there is no harm.
      if (has_journal_ && !tell_removed(file.path)) return kOneRemoval;
      if (remove_file(file.directory, file.name, file.bytes())) ++counts_.removed_records;
      return kOneRemoval;
    };
    const auto remove_if_empty = [this](int parent, const char* name) {
      if (unlinkat(parent, name, AT_REMOVEDIR) != 0) remove_with_mapping(parent, name);
    };
    walk_.go(work, remove, remove_if_empty);
    return walk_.is_open();
  }
  const auto look = [&](const Found& file) {
    if (may_go(file)) search.add(stamp_of(file.name, file.status), file.bytes());
    return std::size_t{0};
  };
  walk_.go(work, look, kLeaveAlone);
  if (walk_.is_open()) return true;
  search.removes = search.has_end();
  return search.end != 0 && walk_.begin(dump_.get(), ".");
}

void TreeQuota::Search::look_between(std::uint64_t from, std::uint64_t to) {
  first = from;
  last = to;
  end = 0;
  std::fill(std::begin(bins), std::end(bins), Bin{});
}

void TreeQuota::Search::add(std::uint64_t stamp, std::uint64_t bytes) {
  if (stamp < first || stamp > last) return;
  Bin& bin = bins[(stamp - first) / ((last - first) / kBins + 1)];
  ++bin.found.files;
  bin.found.bytes += bytes;
  bin.first = std::min(bin.first, stamp);
  bin.last = std::max(bin.last, stamp);
}

/// Whether `end` is now the time before which at least `wanted` of the records were made, and not many more. Else
/// the bin where it is enough is to be sorted again.
bool TreeQuota::Search::has_end() {
  for (const Bin& bin : bins) {
    if (bin.found.files == 0) continue;
    end = bin.last + 1;
    const Need all = {.files = found.files + bin.found.files, .bytes = found.bytes + bin.found.bytes};
    if (all.files < wanted.files || all.bytes < wanted.bytes) {
      found = all;
      continue;
    }
    const bool is_small =
        bin.first == bin.last || (bin.found.files <= wanted.files && bin.found.bytes <= wanted.bytes);
    if (is_small) return true;
    look_between(bin.first, bin.last);
    end = 1;
    return false;
  }
  return true;
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
