#include "platform/posix/tree/short_journal.hpp"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <new>
#include <optional>
#include <string_view>

#include "opdump/base/text.hpp"
#include "opdump/format/digest_table.hpp"
#include "opdump/format/journal_lines.hpp"
#include "opdump/format/statistic_table.hpp"
#include "opdump/impl/drain/journal.hpp"
#include "opdump/types/chunk_fault.hpp"
#include "opdump/types/counts.hpp"
#include "platform/posix/base/unique_fd.hpp"
#include "platform/posix/base/write_all.hpp"
#include "platform/posix/tree/tree_files.hpp"

namespace opdump::posix {
inline namespace OPDUMP_NAMESPACE {
namespace {

constexpr std::string_view kPartSuffix = ".part";
constexpr std::size_t kMostRecorders = 255;
constexpr std::size_t kMostTriggers = 128;
constexpr std::size_t kMostPathBytes = 2048;

/// Pages of the system's, zero at first or those of a file.
class Pages {
 public:
  Pages(std::size_t bytes, int file)
      : bytes_(bytes),
        start_(mmap(nullptr, bytes, file < 0 ? PROT_READ | PROT_WRITE : PROT_READ,
                    file < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_PRIVATE, file, 0)) {}
  Pages(const Pages&) = delete;
  Pages& operator=(const Pages&) = delete;
  ~Pages() {
    if (*this) munmap(start_, bytes_);
  }

  explicit operator bool() const { return start_ != MAP_FAILED; }
  void* start() const { return start_; }

 private:
  std::size_t bytes_;
  void* start_;
};

std::string_view cut_first(std::string_view& text) {
  const std::size_t at = std::min(text.find(','), text.size());
  const std::string_view part = text.substr(0, at);
  text.remove_prefix(std::min(at + 1, text.size()));
  return part;
}

bool take_number(std::string_view& text, std::uint64_t& number) {
  const std::string_view digits = cut_first(text);
  number = 0;
  for (const char c : digits) {
    if (c < '0' || c > '9' || number > UINT64_MAX / 10 - 1) return false;
    number = number * 10 + static_cast<std::uint64_t>(c - '0');
  }
  return !digits.empty();
}

bool take_number(std::string_view& text, std::uint32_t& number) {
  std::uint64_t value = 0;
  if (!take_number(text, value) || value > UINT32_MAX) return false;
  number = static_cast<std::uint32_t>(value);
  return true;
}

/// What a line `forgotten` tells: records `first` to `last`, one after another.
struct Run {
  bool open = false;
  bool ended = false;    ///< a line `to` came behind it
  bool pending = false;  ///< a line `begun`, at `begun`, of a record that has no file, waits for the next
  bool keeps = false;    ///< a line `begun` of one that has stays, and so does the next
  std::uint32_t first = 0;
  std::uint32_t last = 0;
  std::uint32_t written = 0;
  std::uint32_t reduced = 0;
  std::array<std::uint32_t, kForgottenLosses> lost{};
  std::size_t begun = 0;
};

/// Of a trigger: lines `fired` that go, and the latest line `trigger`, which waits for the next.
struct Firings {
  std::uint32_t forgotten = 0;
  char cause[12] = {};
  std::size_t counts = 0;  ///< where that ends; 0: there is none
};

/// A line that tells of records.
struct RecordLine {
  enum class Fate { written, reduced, lost };

  std::uint32_t recorder = 0;
  std::uint32_t first = 0;
  std::uint32_t last = 0;
  Fate fate = Fate::written;
  std::string_view causes{};
  bool forgets = false;
};

std::size_t place_of(std::string_view causes) {
  causes = causes.substr(0, causes.find(':'));
  for (std::size_t i = 0; i < kLossCauses; ++i) {
    if (kLossKinds[i].word == causes) return i;
  }
  return kLossCauses;
}

class Shortener {
  using Kind = JournalLineKind;

 public:
  struct Memory {
    Run runs[kMostRecorders];
    Firings firings[kMostTriggers];
    char out[64 * 1024];
  };

  Shortener(int directory, int to, std::string_view journal, const JournalShortening& how, Memory& memory)
      : directory_(directory), to_(to), journal_(journal), how_(how), memory_(memory) {}

  /// `digests`: bytes of the file of digests.
  int run(std::uint64_t digests) {
    find_limits(digests);
    take_lines();
    flush();
    return error_;
  }

  /// Of the lines behind others, in a journal that names files or not: what they become lies in the memory.
  int fold(bool names_files, std::string_view& text) {
    names_files_ = names_files;
    losses_end_ = journal_.size();
    take_lines();
    text = {memory_.out, used_};
    return error_;
  }

  std::uint64_t bytes() const { return bytes_; }
  std::uint64_t digests_gone() const { return digests_gone_; }

 private:
  void take_lines() {
    for (std::size_t end; at_ < journal_.size(); at_ = end) {
      end = line_end(at_);
      take(journal_.substr(at_, end - at_));
    }
    end_runs();
    tell_firings();
    if (removed_files_ == 0) return;
    char memory[48];
    TextWriter line(memory);
    line.add(kJournalStart<Kind::files_removed>).add_decimal(removed_files_).add('\n');
    put(line.text());
  }

  std::size_t line_end(std::size_t from) const {
    return std::min(journal_.find('\n', from), journal_.size() - 1) + 1;
  }

  /// Finds what lines must be older than to be forgotten.
  void find_limits(std::uint64_t digests) {
    const std::uint64_t most_gone = digests > how_.most_digests ? digests / 2 : 0;
    std::uint64_t told = how_.digests_behind;
    std::size_t first_there = journal_.size();
    for (std::size_t at = 0, end; at < journal_.size(); at = end) {
      end = line_end(at);
      std::string_view rest = journal_.substr(at, end - at - 1);
      const std::optional<Kind> kind = journal_kind(cut_first(rest));
      std::uint64_t bytes = 0;
      if (kind == Kind::digests) {
        for (int field = 0; field < 4; ++field) {
          if (!take_number(rest, bytes)) bytes = 0;
        }
        told += bytes;
        if (told <= most_gone) digests_gone_ = told;
      } else if (first_there == journal_.size() && is_there(kind, rest)) {
        first_there = at;
      }
    }
    // Of losses alone the latest stay.
    losses_end_ = std::min(first_there, journal_.size() - journal_.size() / 4);
    if (journal_.size() > how_.most_bytes) losses_end_ = std::max(losses_end_, journal_.size() / 2);
    digests_ = how_.digests_behind;
  }

  /// Whether a line of that kind names a file that is there.
  bool is_there(std::optional<Kind> kind, std::string_view rest) const {
    if (!kind || *kind == Kind::lost) return false;
    const std::string_view form = kJournalLines[static_cast<std::size_t>(*kind)];
    if (!form.ends_with(",PATH")) return false;
    if (how_.losses_alone) return kind != Kind::begun;
    for (auto fields = std::count(form.begin(), form.end(), ',') - 1; fields > 0; --fields) cut_first(rest);
    return !rest.empty() && (kind == Kind::row       ? has_table(rest)
                             : kind == Kind::reduced ? has_reduced(rest)
                                                     : has(rest));
  }

  void take(std::string_view line) {
    if (line.back() != '\n') return put(line);
    std::string_view rest = line.substr(0, line.size() - 1);
    const std::optional<Kind> kind = journal_kind(cut_first(rest));
    if (how_.drops_extras && (kind == Kind::op || kind == Kind::never)) return;
    if (kind == Kind::header && !how_.losses_alone) return take_head(line, rest);
    if (kind == Kind::removed) return take_removed(line, rest);
    if (kind == Kind::chunk) return take_chunk(line, rest);
    if (kind == Kind::files_removed) {
      std::uint64_t count = 0;
      if (take_number(rest, count)) removed_files_ += count;
      return;
    }
    if (kind == Kind::fired || kind == Kind::trigger || kind == Kind::firings_forgotten)
      return take_trigger(line, *kind, rest);
    if (kind == Kind::closed) {
      end_runs();
      tell_firings();
    }
    if (kind == Kind::from || kind == Kind::to) return take_end(line, kind == Kind::to, rest);
    if (kind == Kind::forgotten) return take_forgotten(line, rest);
    RecordLine record;
    if (!parse(kind, rest, record)) return put(line);
    Run& run = memory_.runs[record.recorder];
    if (kind == Kind::begun) {
      if (run.pending || !record.forgets) end_run(record.recorder);
      run.pending = record.forgets;
      run.begun = at_;
      run.keeps = !record.forgets;
      if (run.keeps) put(line);
    } else if (record.forgets) {
      forget(record);
    } else {
      end_run(record.recorder);
      put(line);
    }
  }

  void take_trigger(std::string_view line, Kind kind, std::string_view rest) {
    std::uint32_t number = 0;
    std::uint32_t count = 1;
    const bool good = take_number(rest, number) && number < kMostTriggers;
    const std::string_view cause = cut_first(rest);
    if (!good || cause.size() > sizeof Firings::cause - 1 ||
        (kind == Kind::firings_forgotten && !take_number(rest, count)))
      return put(line);
    Firings& of = memory_.firings[number];
    if (kind == Kind::trigger) {
      of.counts = at_ + line.size();
    } else if (kind == Kind::fired && at_ >= losses_end_) {
      tell_firings();
      put(line);
    } else {
      of.forgotten += count;
      of.cause[cause.copy(of.cause, sizeof of.cause - 1)] = '\0';
    }
  }

  void tell_firings() {
    for (std::uint32_t number = 0; number < kMostTriggers; ++number) {
      Firings& of = memory_.firings[number];
      if (of.forgotten != 0) {
        char memory[64];
        TextWriter line(memory);
        line.add(kJournalStart<Kind::firings_forgotten>).add_decimal(number).add(',').add(of.cause);
        put(line.add(',').add_decimal(of.forgotten).add('\n').text());
      }
      if (of.counts != 0) {
        const std::size_t from = journal_.rfind('\n', of.counts - 2) + 1;
        put(journal_.substr(from, of.counts - from));
      }
      of = {};
    }
  }

  /// Of a line that tells of records, and whether it is to be forgotten.
  bool parse(std::optional<Kind> kind, std::string_view rest, RecordLine& record) {
    using Fate = RecordLine::Fate;
    const bool is_range = kind == Kind::digests || kind == Kind::gap;
    const bool names =
        kind == Kind::begun || kind == Kind::written || kind == Kind::row || kind == Kind::reduced;
    if (!is_range && !names && kind != Kind::lost) return false;
    std::string_view fields = rest;
    if (!take_number(fields, record.recorder) || record.recorder >= kMostRecorders ||
        !take_number(fields, record.first))
      return false;
    record.last = record.first;
    if (is_range && !take_number(fields, record.last)) return false;
    const Run& run = memory_.runs[record.recorder];
    if (kind == Kind::digests) {
      std::uint64_t bytes = 0;
      if (!take_number(fields, bytes)) return false;
      digests_ += bytes;
      record.forgets = digests_ <= digests_gone_;
      return true;
    }
    if (kind == Kind::reduced) record.fate = Fate::reduced;
    if (kind == Kind::gap || kind == Kind::lost) {
      record.fate = Fate::lost;
      record.causes = cut_first(fields);
      record.forgets = at_ < losses_end_ && !run.keeps;
      if (run.pending) record.forgets = kind == Kind::lost;
      return true;
    }
    cut_first(fields);
    // The path of a record that was begun stands there.
    const bool has_path = kind != Kind::written || !fields.empty();
    record.forgets = has_path ? !run.keeps && !is_there(kind, rest) : run.pending && !how_.losses_alone;
    return true;
  }

  void take_head(std::string_view line, std::string_view rest) {
    cut_first(rest);
    names_files_ = rest == "records";
    if (at_ == 0) put(line);
  }

  void take_removed(std::string_view line, std::string_view path) {
    // Else no line of the record is still to come.
    if ((names_files_ && at_ >= how_.told_from) || has(path)) return put(line);
    // In a journal that names files, lines `forgotten` count them.
    if (!names_files_) ++removed_files_;
  }

  void take_chunk(std::string_view line, std::string_view rest) {
    const std::string_view fault = cut_first(rest);
    cut_first(rest);
    cut_first(rest);
    if (how_.losses_alone || fault != kind_of(ChunkFault::other).word || rest.empty() ||
        rest.starts_with("../") || has(rest))
      return put(line);
    if (names_files_) ++removed_files_;
  }

  void take_end(std::string_view line, bool is_end, std::string_view rest) {
    std::uint32_t recorder = 0;
    std::uint32_t sequence = 0;
    if (!take_number(rest, recorder) || recorder >= kMostRecorders || !take_number(rest, sequence))
      return put(line);
    Run& run = memory_.runs[recorder];
    if (is_end && run.open && !run.ended && !run.pending && reach(run, sequence)) {
      run.ended = true;
      return;
    }
    if (!is_end && run.ended && sequence == run.last + 1) {
      run.ended = false;
      return;
    }
    end_run(recorder);
    put(line);
  }

  void take_forgotten(std::string_view line, std::string_view rest) {
    std::uint32_t recorder = 0;
    Run told;
    bool good = take_number(rest, recorder) && recorder < kMostRecorders && take_number(rest, told.first) &&
                take_number(rest, told.last) && take_number(rest, told.written) &&
                take_number(rest, told.reduced);
    for (std::uint32_t& count : told.lost) good = good && take_number(rest, count);
    if (!good) return put(line);
    Run& run = go_on(recorder, told.first);
    run.last = told.last;
    run.written += told.written;
    run.reduced += told.reduced;
    for (std::size_t i = 0; i < kForgottenLosses; ++i) run.lost[i] += told.lost[i];
  }

  void forget(const RecordLine& record) {
    using Fate = RecordLine::Fate;
    Run& run = go_on(record.recorder, record.first);
    const std::uint32_t count = record.last - record.first + 1;
    run.last = record.last;
    if (record.fate == Fate::lost) {
      run.lost[place_of(record.causes)] += count;
    } else {
      run.written += count;
      run.reduced += record.fate == Fate::reduced ? count : 0;
    }
  }

  /// The recorder's run, which `sequence` comes next in.
  Run& go_on(std::uint32_t recorder, std::uint32_t sequence) {
    Run& run = memory_.runs[recorder];
    run.pending = false;
    if (run.open && !run.ended && reach(run, sequence)) return run;
    end_run(recorder);
    run.open = true;
    run.first = sequence;
    run.last = sequence - 1;
    return run;
  }

  /// False when records before `sequence` have no line, as in a journal that names files.
  bool reach(Run& run, std::uint32_t sequence) const {
    const std::uint32_t between = sequence - 1 - run.last;
    if (between == 0) return true;
    if (names_files_ || static_cast<std::int32_t>(between) < 0) return false;
    run.written += between;
    run.last = sequence - 1;
    return true;
  }

  void end_runs() {
    for (std::uint32_t recorder = 0; recorder < kMostRecorders; ++recorder) end_run(recorder);
  }

  void end_run(std::uint32_t recorder) {
    Run& run = memory_.runs[recorder];
    if (run.open) {
      char memory[20 + (6 + kForgottenLosses) * (kMaxDecimalBytes + 1)];
      TextWriter line(memory);
      line.add(kJournalStart<Kind::forgotten>).add_decimal(recorder);
      for (const std::uint32_t number : {run.first, run.last, run.written, run.reduced})
        line.add(',').add_decimal(number);
      for (const std::uint32_t count : run.lost) line.add(',').add_decimal(count);
      line.add('\n');
      if (run.ended) {
        line.add(kJournalStart<Kind::to>).add_decimal(recorder).add(',').add_decimal(run.last + 1).add('\n');
      }
      put(line.text());
    }
    // No end is known of it, or one that stays.
    if (run.pending) put(journal_.substr(run.begun, line_end(run.begun) - run.begun));
    run = {};
  }

  bool has_table(std::string_view path) const {
    char table[kMostPathBytes];
    const std::string_view below = path.substr(0, path.rfind('/') + 1);
    if (below.size() + kStatisticTableName.size() > sizeof table) return true;
    char* const end = put_text(put_text(table, below), kStatisticTableName);
    return has({table, end});
  }

  bool has_reduced(std::string_view path) const {
    return path.ends_with(".csv") ? has(path) : has_table(path);
  }

  /// Whether that file is there, under its name or the number that stands for a name that is too long.
  bool has(std::string_view path) const { return has_file(path) || has_numbered(path); }

  bool has_numbered(std::string_view path) const {
    char numbered[kMostPathBytes];
    const std::size_t name = path.rfind('/') + 1;
    if (name + kMaxShortNameBytes > sizeof numbered) return true;
    char* const end = put_short_name(put_text(numbered, path.substr(0, name)), path.substr(name));
    return has_file({numbered, end});
  }

  bool has_file(std::string_view path) const {
    char text[kMostPathBytes + 1];
    if (path.size() > kMostPathBytes) return true;
    text[path.copy(text, kMostPathBytes)] = '\0';
    struct stat status;
    return fstatat(directory_, text, &status, AT_SYMLINK_NOFOLLOW) == 0 ||
           (errno != ENOENT && errno != ENOTDIR && errno != ENAMETOOLONG);
  }

  void put(std::string_view text) {
    bytes_ += text.size();
    while (!text.empty()) {
      const std::size_t part = std::min(text.size(), sizeof memory_.out - used_);
      std::memcpy(memory_.out + used_, text.data(), part);
      used_ += part;
      text.remove_prefix(part);
      if (used_ == sizeof memory_.out) flush();
    }
  }

  void flush() {
    const Bytes part = as_bytes(std::string_view(memory_.out, used_));
    if (error_ == 0) error_ = to_ < 0 ? ENOSPC : write_all(to_, {&part, 1});
    used_ = 0;
  }

  const int directory_;
  const int to_;
  const std::string_view journal_;
  const JournalShortening& how_;
  Memory& memory_;
  std::size_t at_ = 0;  ///< of the line that is taken
  std::size_t used_ = 0;
  std::uint64_t bytes_ = 0;
  std::size_t losses_end_ = 0;       ///< losses told before are forgotten
  std::uint64_t digests_ = 0;        ///< bytes of the file of digests that the lines so far tell of
  std::uint64_t digests_gone_ = 0;   ///< that are to go
  std::uint64_t removed_files_ = 0;  ///< whose lines go
  bool names_files_ = true;
  int error_ = 0;
};

/// Writes a file aside and puts it in the place of `name`, or takes it back.
class Replacement {
 public:
  Replacement(int directory, std::string_view name) : directory_(directory) {
    is_named_ = name.size() + kPartSuffix.size() <= kMaxFileNameBytes;
    if (!is_named_) return;
    *put_text(name_, name) = '\0';
    *put_text(put_text(part_, name), kPartSuffix) = '\0';
    unlinkat(directory_, part_, 0);  // nobody else writes this journal
    file_.reset(open_at(directory_, part_, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0600));
  }
  Replacement(const Replacement&) = delete;
  Replacement& operator=(const Replacement&) = delete;
  ~Replacement() {
    if (file_) unlinkat(directory_, part_, 0);
  }

  explicit operator bool() const { return static_cast<bool>(file_); }
  int file() const { return file_.get(); }

  int end(const JournalShortening& how) {
    if (const int error = force_mode(file_.get(), 0600)) return error;
    if (how.is_durable && fsync(file_.get()) != 0) return errno;
    if (renameat(directory_, part_, directory_, name_) != 0) return errno;
    static_cast<void>(file_.close());
    return how.syncs_directory ? sync_directory(directory_) : 0;
  }

 private:
  int directory_;
  bool is_named_ = false;
  char name_[kMaxFileNameBytes + 1];
  char part_[kMaxFileNameBytes + 1];
  UniqueFd file_;
};

bool read_at(int file, char* to, std::size_t bytes, std::uint64_t from) {
  return pread(file, to, bytes, static_cast<off_t>(from)) == static_cast<ssize_t>(bytes);
}

/// Puts `now` in the place of `before`, with which the file ends, at `tail`; or nothing. In one call, which a
/// killed process has made or not; where the file becomes shorter, it ends early in between.
int replace_tail(int file, std::string_view before, std::string_view now, std::uint64_t tail,
                 std::uint64_t& bytes) {
  const auto differs = std::mismatch(before.begin(), before.end(), now.begin(), now.end());
  const auto same = static_cast<std::size_t>(differs.first - before.begin());
  if (now.size() < before.size() && ftruncate(file, static_cast<off_t>(tail + same)) != 0) return errno;
  const int error = write_all_at(file, as_bytes(now.substr(same)), tail + same);
  bytes = tail + (error == 0 ? now.size() : before.size());
  if (error != 0 && write_all_at(file, as_bytes(before.substr(same)), tail + same) == 0)
    static_cast<void>(ftruncate(file, static_cast<off_t>(bytes)) == 0);
  return error;
}

/// Lets the first `gone` bytes of the file go.
int cut_digests(int directory, const char* name, std::uint64_t gone, const JournalShortening& how) {
  const UniqueFd file(open_at(directory, name, O_RDONLY | O_NOFOLLOW));
  struct stat status;
  if (!file || fstat(file.get(), &status) != 0) return errno;
  const auto bytes = static_cast<std::size_t>(status.st_size);
  if (gone >= bytes) return EINVAL;
  const Pages pages(bytes, file.get());
  Replacement replacement(directory, name);
  if (!pages || !replacement) return errno;
  const Bytes rest = Bytes(static_cast<const std::byte*>(pages.start()), bytes).subspan(gone);
  const int error = write_all(replacement.file(), {&rest, 1});
  return error != 0 ? error : replacement.end(how);
}

}  // namespace

int shorten_journal(int directory, const char* name, const JournalShortening& how, ShortenedJournal& done) {
  const UniqueFd file(open_at(directory, name, O_RDONLY | O_NOFOLLOW));
  struct stat status;
  if (!file || fstat(file.get(), &status) != 0) return errno;
  const auto bytes = static_cast<std::size_t>(status.st_size);
  const std::string_view journal_name(name);
  if (!S_ISREG(status.st_mode) || bytes == 0 || !journal_name.ends_with(kJournalSuffix)) return EINVAL;
  char digests[kMaxFileNameBytes + kDigestSuffix.size()];
  const std::string_view stem = journal_name.substr(0, journal_name.size() - kJournalSuffix.size());
  *put_text(put_text(digests, stem), kDigestSuffix) = '\0';
  struct stat of_digests;
  const bool has_digests = fstatat(directory, digests, &of_digests, AT_SYMLINK_NOFOLLOW) == 0;

  const Pages journal(bytes, file.get());
  const Pages memory(sizeof(Shortener::Memory), -1);
  Replacement replacement(directory, journal_name);
  if (!journal || !memory || !replacement) return errno;
  Shortener shortener(directory, replacement.file(), {static_cast<const char*>(journal.start()), bytes}, how,
                      *static_cast<Shortener::Memory*>(memory.start()));
  int error = shortener.run(has_digests ? static_cast<std::uint64_t>(of_digests.st_size) : 0);
  if (error == 0) error = replacement.end(how);
  if (error != 0) return error;
  done = {.old_bytes = bytes, .bytes = shortener.bytes(), .digests_behind = how.digests_behind};
  if (shortener.digests_gone() == 0) return 0;
  // Later: what no line tells of and is there is no harm.
  if (cut_digests(directory, digests, shortener.digests_gone(), how) == 0) {
    done.digest_bytes_gone = shortener.digests_gone();
    done.digests_behind = 0;
  } else {
    done.digests_behind = shortener.digests_gone();
  }
  return 0;
}

int fold_losses(int directory, const char* name, std::uint64_t tail, std::span<const Bytes> lines,
                std::uint64_t most_growth, std::uint64_t& bytes) {
  const UniqueFd file(open_at(directory, name, O_RDWR | O_NOFOLLOW));
  struct stat status;
  if (!file || fstat(file.get(), &status) != 0) return errno;
  bytes = static_cast<std::uint64_t>(status.st_size);
  if (tail > bytes) return EINVAL;
  const auto old = static_cast<std::size_t>(bytes - tail);
  std::size_t all = old;
  for (const Bytes part : lines) all += part.size();
  const Pages before(all + 1, -1);
  const Pages memory(sizeof(Shortener::Memory), -1);
  if (!before || !memory) return errno;
  const auto start = static_cast<char*>(before.start());
  char head[32] = "";
  if (!read_at(file.get(), start, old, tail) ||
      !read_at(file.get(), head, std::min<std::uint64_t>(bytes, sizeof head - 1), 0))
    return EIO;
  char* to = start + old;
  for (const Bytes part : lines) to = put_text(to, as_text(part));
  // Those of a sealed one cannot be told apart.
  const bool folds = std::string_view(head).starts_with(kJournalHead);
  const bool names_files = std::string_view(head).find(",gaps\n") == std::string_view::npos;

  JournalShortening how = {.losses_alone = true};
  std::string_view text;
  for (;; how.drops_extras = true) {
    auto& cleared = *new (memory.start()) Shortener::Memory;
    const int error =
        folds ? Shortener(directory, -1, {start, all}, how, cleared).fold(names_files, text) : 0;
    if (!folds) text = {start, all};
    if (error == 0 && (text.size() <= old || text.size() - old <= most_growth)) break;
    if (error != 0 || how.drops_extras || !folds) return error != 0 ? error : ENOSPC;
  }
  return replace_tail(file.get(), {start, old}, text, tail, bytes);
}

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::posix
