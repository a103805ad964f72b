#pragma once
#include <algorithm>
#include <bitset>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

#include "opdump/base/bytes.hpp"
#include "opdump/base/crc32.hpp"
#include "platform/flashlog/block.hpp"
#include "platform/flashlog/device.hpp"
#include "platform/flashlog/format.hpp"

namespace opdump::flashlog {
inline namespace OPDUMP_NAMESPACE {

/// A block as a piece of a stream.
struct Segment {
  std::uint32_t sequence = 0;
  std::uint32_t block = 0;
  std::uint32_t previous = 0;
  std::uint32_t previous_end = 0;
  std::uint32_t left = 0;     ///< as in BlockStart
  std::uint32_t run_crc = 0;  ///< as in BlockStart
  std::uint32_t boot = 0;     ///< as in BlockStart, also for images of older versions
  std::uint32_t begin = 0;    ///< offset of the first byte of the stream
  std::uint32_t end = 0;      ///< offset behind the last one
  bool follows = false;       ///< the stream comes from the segment before
  bool starts = false;        ///< a stream begins here
};

enum class ObjectState : std::uint8_t {
  committed,    ///< whole
  aborted,      ///< given up by the writer
  torn,         ///< never ended: power went, or the log was full
  damaged,      ///< ended, but bytes of it or its directory are lost
  overwritten,  ///< ended, but its beginning, with its name, is gone, or that of the other one of its pair
  lines,        ///< not an object: bytes that were added to a journal
};

/// Reads a log from a device or an image of it, which nobody vouches for: each byte that is given out stands
/// under a CRC that was good in the very reading which the byte comes from, and damage costs what it hit. So
/// bytes that read differently from time to time cost no more than damaged ones. A read that fails is tried
/// again.
///
///     LogReader reader(device, names);
///     Status status = reader.open(segments);
///     for (LogReader::Object object; reader.next(object);) ...
///
/// The objects of one boot lie between those of the boots before and after. Of a pair, both count or neither,
/// in an image or wherever bytes read the same each time; a commit that a loss of power left undecided in the
/// part may count for one and, a moment later, not for the other: read such a part into an image first. Not
/// thread-safe; the log must not be written meanwhile.
class LogReader {
 public:
  struct Position {
    std::uint32_t segment = 0;
    std::uint32_t offset = 0;
    friend auto operator<=>(const Position&, const Position&) = default;
  };

  /// A way through the log, entry by entry.
  struct Walk {
    /// Entries under one CRC.
    struct RunBegin {
      Position at;
      std::uint32_t crc = 0;  // of what the CRC covers before
    };
    struct Reference {
      RunBegin run;
      Position at;  // of the entry
      std::uint32_t bytes = 0;
      bool known = false;
    };
    Position at;
    RunBegin run;                     // the one that was checked
    Position run_end;                 // behind its CRC
    std::uint32_t run_crc = 0;        // of what the next CRC covers before `run_end`
    std::uint32_t first_segment = 0;  // of the stream
    std::uint32_t unreadable_runs = 0;
    Reference directory;
    Reference journal;
  };

  struct Object {
    ObjectState state = ObjectState::torn;
    std::string_view directory;    ///< in the reader's memory, until the next call of `next`
    std::string_view file;         ///< likewise; empty when it is not known
    bool directory_known = false;  ///< false: damage has taken it
    std::uint64_t bytes = 0;       ///< that `read` gives
    std::uint32_t number = 0;
    std::uint32_t boot = 0;  ///< `FlashLog::boot` of the boot that wrote it
    Walk walk;               ///< behind the object's first entry
  };

  /// `device` needs only its geometry, `read` and context. `names` holds one directory and file name; a
  /// quarter of a block is always enough.
  LogReader(const Device& device, std::span<char> names) : device_(device), names_(names) {}

  /// Looks at the start of each block; `invalid_argument` when `is_usable` does not hold. `segments` has room
  /// for one per block (`no_memory`) and stays the reader's. `search_bytes`: after damage, look for the next
  /// good entry at every byte instead of in the next block, which loses less, until that many bytes have been
  /// read for it in all; `search_ended` then tells.
  [[nodiscard]] Status open(std::span<Segment> segments, std::uint64_t search_bytes = 0) {
    if (!is_usable(device_.geometry)) return Status::invalid_argument;
    if (segments.size() < device_.geometry.block_count) return Status::no_memory;
    segments_ = segments.first(0);
    search_left_ = search_bytes;
    search_ended_ = false;
    std::uint32_t count = 0;
    for (std::uint32_t block = 0; block < device_.geometry.block_count; ++block) {
      if (read_segment(block, segments[count])) ++count;
    }
    std::sort(segments.begin(), segments.begin() + count,
              [](const Segment& a, const Segment& b) { return a.sequence < b.sequence; });
    segments_ = segments.first(link(segments.first(count)));
    walk_ = {};
    Ignore ignore;
    ended_ = !resynchronise(walk_, 0, ignore);
    begun_.reset();
    begun_in_ = 0;
    cached_ = {};
    return Status::ok;
  }

  /// Gives the next object in the order of their beginnings, or journal lines in the order in which they were
  /// written. False after the last.
  bool next(Object& object) {
    Finder finder(*this);
    while (!ended_ && visit(walk_, finder)) {
      walk_.directory = finder.directory;
      walk_.journal = finder.journal;
      walk_.at = finder.found ? finder.behind : walk_.run_end;
      begun_ = finder.begun;
      begun_in_ = walk_.first_segment;
      if (!finder.found) continue;
      const Entry& entry = finder.entry_found;
      object = {};
      object.number = entry.head.number();
      object.boot = segments_[entry.begin.segment].boot;
      object.walk = walk_;
      switch (entry.head.kind()) {
        case Kind::begin:
          name_object(entry, object);
          follow(object);
          if (object.state == ObjectState::committed && !object.directory_known) {
            object.state = ObjectState::damaged;
          }
          return true;
        case Kind::lines:
          object.state = ObjectState::lines;
          object.bytes = entry.head.body_bytes();
          object.walk.at = entry.body;
          name_journal(object);
          return true;
        default:
          object.state = ObjectState::overwritten;
          return true;
      }
    }
    ended_ = true;
    return false;
  }

  /// Calls `use(Bytes)` with the object's bytes in order, in pieces that fit `memory`, while it returns true.
  /// An object that is not committed gives what is left of it. `io_error` when the device fails, or reads
  /// other bytes than before: what was given is void then.
  template <class Use>
  [[nodiscard]] Status read(const Object& object, MutableBytes memory, Use use) const {
    if (object.state == ObjectState::overwritten) return Status::ok;
    Delivery<Use> delivery(object, use);
    Walk walk = object.walk;
    while (delivery.left != 0) {
      Ignore ignore;
      if (walk.at == walk.run_end && !find_run(walk, ignore)) return Status::io_error;
      if (delivery.ended || walk.first_segment != object.walk.first_segment) return Status::io_error;
      Position at = walk.run.at;
      delivery.from = walk.at;
      const Run run = check_run(at, walk.run.crc, delivery, memory);
      if (delivery.stopped) return Status::ok;
      if (run != Run::good) return Status::io_error;
      walk.at = walk.run_end;
    }
    return Status::ok;
  }

  /// Blocks that hold a part of the log.
  std::span<const Segment> segments() const { return segments_; }

  /// Runs of entries so far whose CRC is missing or wrong: one at the end of each stream that a loss of power
  /// cut short, one at its beginning if that is overwritten, and damage.
  std::uint32_t unreadable_runs() const { return walk_.unreadable_runs; }

  /// Whether more could perhaps be found by searching longer.
  bool search_ended() const { return search_ended_; }

 private:
  struct Entry {
    EntryHead head;
    Position begin;
    Position body;
  };

  enum class Run : std::uint8_t { good, bad, broken, none };

  // Visitors are handed the entries of a run while it is read. What they gather counts once its CRC has
  // turned out good; `restart` tells that it is read anew, or another one is. `from`: what begins before is
  // not of interest.

  struct Ignore {
    Position from;
    void restart(Walk::RunBegin) {}
    void entry(const Entry&) {}
    void body(Bytes) {}
  };

  /// The first entry that tells of an object or journal.
  struct Finder {
    explicit Finder(LogReader& log) : reader(log) {}

    LogReader& reader;
    Position from;
    Walk::RunBegin run;
    Walk::Reference directory, journal;
    std::bitset<kObjectNumbers> begun;
    bool found = false;
    Entry entry_found;
    Position behind;
    MutableBytes name;

    void restart(Walk::RunBegin begin) {
      const Walk& walk = reader.walk_;
      run = begin;
      directory = walk.directory;
      journal = walk.journal;
      begun = reader.begun_;
      if (walk.first_segment != reader.begun_in_) begun.reset();
      found = false;
      name = {};
    }

    void entry(const Entry& entry) {
      name = {};
      if (found || entry.begin < from) return;
      const Kind kind = entry.head.kind();
      const std::uint32_t number = entry.head.number();
      const Walk::Reference reference = {run, entry.begin, entry.head.body_bytes(), true};
      if (kind == Kind::directory) directory = reference;
      if (kind == Kind::journal) journal = reference;
      if (kind == Kind::begin) {
        begun.set(number);
        name = reader.place_for_file(entry.head.body_bytes());
      }
      const bool ends = kind == Kind::commit || kind == Kind::commit_with_next || kind == Kind::abort;
      found = kind == Kind::begin || kind == Kind::lines || (ends && !begun.test(number));
      if (ends) begun.reset(number);
      if (!found) return;
      entry_found = entry;
      behind = reader.behind(entry);
    }

    void body(Bytes bytes) { take_piece(name, bytes); }
  };

  /// The body of one entry.
  struct Capture {
    Position at;
    MutableBytes memory;
    Position from{};
    MutableBytes to{};

    void restart(Walk::RunBegin) {}
    void entry(const Entry& entry) { to = entry.begin == at ? memory : MutableBytes(); }
    void body(Bytes bytes) { take_piece(to, bytes); }
  };

  /// What becomes of an object: its entries so far, and with those of this run.
  struct Account {
    struct Sum {
      bool begun = false;
      std::uint64_t bytes = 0;
      ObjectState state = ObjectState::torn;
      bool ended = false;
      bool paired = false;  // with `partner`, under the CRC of its commit
      std::uint32_t partner = kObjectNumbers;
    };
    std::uint32_t number = 0;
    bool again = false;  // the last object of that number, not the first
    Sum before{};
    Position from{};
    Sum now{};
    EntryHead head{};  // the entry under way
    Little<std::uint32_t> size{};
    MutableBytes to{};

    void restart(Walk::RunBegin) {
      now = before;
      head = EntryHead(0, 0);
    }

    void entry(const Entry& entry) {
      const EntryHead last = head;
      head = entry.head;
      to = {};
      const Kind kind = head.kind();
      const bool commits = kind == Kind::commit || kind == Kind::commit_with_next;
      if (now.ended && now.paired && last.kind() == Kind::commit_with_next && last.number() == number &&
          kind == Kind::commit) {
        now.partner = head.number();
      }
      if (entry.begin < from || head.number() != number) return;
      if (kind == Kind::begin && again) now = {.begun = true};
      if (!now.begun || now.ended) return;
      if (kind == Kind::begin && !again) now.ended = true;
      if (kind == Kind::data) now.bytes += head.body_bytes();
      if (kind == Kind::abort) now.state = ObjectState::aborted;
      if (kind == Kind::abort || commits) now.ended = true;
      if (!commits) return;
      now.state = ObjectState::damaged;
      now.paired = kind == Kind::commit_with_next || last.kind() == Kind::commit_with_next;
      if (kind == Kind::commit && now.paired) now.partner = last.number();
      if (head.body_bytes() == sizeof size) to = {reinterpret_cast<std::byte*>(&size), sizeof size};
    }

    void body(Bytes bytes) {
      if (to.empty()) return;
      take_piece(to, bytes);
      if (to.empty() && size == static_cast<std::uint32_t>(now.bytes)) now.state = ObjectState::committed;
    }
  };

  template <class Use>
  struct Delivery {
    Delivery(const Object& object, Use& to)
        : number(object.number), lines(object.state == ObjectState::lines), at(object.walk.at),
          left(object.bytes), use(to) {}

    std::uint32_t number;
    bool lines;
    Position at;  // of the lines
    std::uint64_t left;
    Use& use;
    Position from{};
    bool wanted = false;
    bool ended = false;
    bool stopped = false;

    void restart(Walk::RunBegin) { wanted = false; }
    void entry(const Entry& entry) {
      const Kind kind = entry.head.kind();
      const bool ours = entry.head.number() == number && !(entry.begin < from);
      ended = ended || (ours && (kind == Kind::begin || kind == Kind::commit || kind == Kind::abort ||
                                 kind == Kind::commit_with_next));
      wanted = lines ? entry.body == at : ours && kind == Kind::data && !ended;
    }
    void body(Bytes bytes) {
      if (!wanted || stopped) return;
      if (bytes.size() > left) bytes = bytes.first(static_cast<std::size_t>(left));
      left -= bytes.size();
      if (!bytes.empty()) stopped = !use(bytes);
    }
  };

  static void take_piece(MutableBytes& to, Bytes bytes) {
    bytes = bytes.first(std::min(bytes.size(), to.size()));
    copy_bytes(to.data(), bytes);
    to = to.subspan(bytes.size());
  }

  // Blocks.

  bool read_segment(std::uint32_t block, Segment& segment) const {
    Header header;
    if (look_at(device_, block, header) != BlockUse::taken) return false;
    const std::uint32_t bytes = header.head.bytes;
    for (const std::uint32_t at : {bytes, round_up(bytes, device_.geometry.program_bytes)}) {
      BlockStart start;
      if (at > device_.geometry.block_bytes - sizeof start) return false;
      const MutableBytes memory = std::as_writable_bytes(std::span(&start, 1));
      if (!read_block(block, at, memory)) return false;
      const std::uint32_t body = start.head.body_bytes();
      const bool old = body == BlockStart::kOldBodyBytes;
      const std::size_t before_crc = sizeof start.head + body;
      if (start.head.kind() != Kind::start || (!old && body != BlockStart::kBodyBytes) ||
          load_little_endian<std::uint32_t>(memory.data() + before_crc) !=
              crc32(0, memory.first(before_crc))) {
        continue;
      }
      const bool starts = start.previous_end == kNewStream;
      segment = {
          .sequence = header.head.sequence,
          .block = block,
          .previous = start.previous,
          .previous_end = start.previous_end,
          .left = start.left,
          .run_crc = start.run_crc,
          .boot = old ? (starts ? std::uint32_t{header.head.sequence} : 0) : std::uint32_t{start.boot},
          .begin = at + static_cast<std::uint32_t>(before_crc) + kCrcBytes,
          .end = device_.geometry.block_bytes,
          .follows = false,
          .starts = starts,
      };
      return true;
    }
    return false;
  }

  /// Ties the segments to streams.
  static std::size_t link(std::span<Segment> segments) {
    std::size_t count = 0;
    for (Segment next : segments) {
      while (count != 0 && segments[count - 1].sequence > next.previous) --count;
      if (count != 0 && segments[count - 1].sequence == next.previous &&
          next.previous_end >= segments[count - 1].begin && next.previous_end <= segments[count - 1].end) {
        segments[count - 1].end = next.previous_end;
        next.follows = true;
      }
      if (next.boot == 0) next.boot = count != 0 ? segments[count - 1].boot : next.sequence;
      segments[count++] = next;
    }
    return count;
  }

  bool read_block(std::uint32_t block, std::uint32_t offset, MutableBytes to) const {
    for (std::uint32_t tries = kReadTries; tries != 0; --tries) {
      if (device_.read(device_.context, block, offset, to) == Status::ok) return true;
    }
    return false;
  }

  // The stream.

  bool to_next(Position& at) const {
    if (at.segment + 1 >= segments_.size() || !segments_[at.segment + 1].follows) return false;
    at = {at.segment + 1, segments_[at.segment + 1].begin};
    return true;
  }

  /// Calls `use(block, offset, size)` for the next `bytes` bytes, in pieces of at most `most`. False when the
  /// stream ends before or `use` says so.
  template <class Use>
  bool for_pieces(Position& at, std::uint32_t bytes, std::size_t most, Use use) const {
    while (bytes != 0) {
      const std::uint32_t room = segments_[at.segment].end - at.offset;
      if (room == 0) {
        if (!to_next(at)) return false;
        continue;
      }
      std::uint32_t piece = bytes < room ? bytes : room;
      if (piece > most) piece = static_cast<std::uint32_t>(most);
      if (!use(segments_[at.segment].block, at.offset, piece)) return false;
      at.offset += piece;
      bytes -= piece;
    }
    return true;
  }

  std::uint64_t bytes_between(Position from, Position to) const {
    std::uint64_t bytes = 0;
    for (; from.segment != to.segment; from = {from.segment + 1, segments_[from.segment + 1].begin})
      bytes += segments_[from.segment].end - from.offset;
    return bytes + to.offset - from.offset;
  }

  bool skip(Position& at, std::uint32_t bytes) const {
    return for_pieces(at, bytes, bytes, [](auto...) { return true; });
  }

  /// Copies the next bytes.
  bool take(Position& at, MutableBytes to) const {
    const std::uint32_t bytes = static_cast<std::uint32_t>(to.size());
    return for_pieces(at, bytes, bytes, [&](std::uint32_t block, std::uint32_t offset, std::uint32_t piece) {
      const bool good = read_block(block, offset, to.first(piece));
      to = to.subspan(piece);
      return good;
    });
  }

  template <class T>
  bool take_value(Position& at, T& value) const {
    return take(at, {reinterpret_cast<std::byte*>(&value), sizeof value});
  }

  /// Calls `use(Bytes)` with the next bytes, in pieces that fit `memory`, which is not empty.
  template <class Use>
  bool take(Position& at, std::uint32_t bytes, MutableBytes memory, Use use) const {
    return for_pieces(
        at, bytes, memory.size(), [&](std::uint32_t block, std::uint32_t offset, std::uint32_t piece) {
          const MutableBytes to = memory.first(piece);
          return read_block(block, offset, to) && use(Bytes(to));
        });
  }

  /// Goes to where the next entry begins; false when there is none.
  bool to_entry(Position& at) const {
    for (;;) {
      const Segment& segment = segments_[at.segment];
      if (at.offset == segment.end) {
        if (!to_next(at)) return false;
        continue;
      }
      std::byte first;
      if (!read_block(segment.block, at.offset, {&first, 1})) return false;
      if (first != device_.geometry.erased) return true;
      if (at.offset % device_.geometry.program_bytes == 0) return false;
      at.offset = std::min(round_up(at.offset, device_.geometry.program_bytes), segment.end);
    }
  }

  bool take_head(Position& at, Entry& entry) const {
    if (!to_entry(at)) return false;
    entry.begin = at;
    if (!take_value(at, entry.head)) return false;
    entry.body = at;
    return entry.head.kind() >= Kind::directory && entry.head.kind() <= Kind::commit_with_next;
  }

  /// Hands the entries from `at` up to the next CRC, which covers what has the CRC `crc` before, to `visitor`.
  /// `at` becomes where they end, if they are `good` or just their CRC is `bad`. `broken`: they end nowhere;
  /// `none`: there is not even a first.
  template <class Visitor>
  Run check_run(Position& at, std::uint32_t crc, Visitor& visitor, MutableBytes memory) const {
    visitor.restart({at, crc});
    if (!to_entry(at)) return Run::none;
    for (;;) {
      Entry entry;
      if (!take_head(at, entry)) return Run::broken;
      crc = crc32(crc, bytes_of(entry.head));
      visitor.entry(entry);
      const bool taken = take(at, entry.head.body_bytes(), memory, [&](Bytes bytes) {
        crc = crc32(crc, bytes);
        visitor.body(bytes);
        return true;
      });
      if (!taken) return Run::broken;
      if (!entry.head.sealed()) continue;
      Little<std::uint32_t> expected;
      if (!take_value(at, expected)) return Run::broken;
      return crc == expected ? Run::good : Run::bad;
    }
  }

  template <class Visitor>
  Run check_run(Position& at, std::uint32_t crc, Visitor& visitor) const {
    std::byte memory[256];
    return check_run(at, crc, visitor, memory);
  }

  /// Behind `entry`, in the run to which it belongs.
  Position behind(const Entry& entry) const {
    Position at = entry.body;
    skip(at, entry.head.body_bytes() + (entry.head.sealed() ? kCrcBytes : 0));
    return at;
  }

  void enter(Walk& walk, std::uint32_t segment) const {
    walk.at = {segment, segments_[segment].begin};
    if (!segments_[segment].follows) walk.first_segment = segment;
    walk.run_end = walk.at;
    walk.run_crc = 0;
    forget(walk);
  }

  static void forget(Walk& walk) { walk.directory.known = walk.journal.known = false; }

  static void take_run(Walk& walk, Walk::RunBegin run, Position end) {
    walk.at = run.at;
    walk.run = run;
    walk.run_end = end;
    walk.run_crc = 0;
  }

  /// Hands what is left of the run at `walk`, or else the next one, to `visitor`. False at the end of the log.
  template <class Visitor>
  bool visit(Walk& walk, Visitor& visitor) const {
    visitor.from = walk.at;
    for (std::uint32_t tries = kReadTries; tries != 0 && walk.at != walk.run_end; --tries) {
      Position end = walk.run.at;
      if (check_run(end, walk.run.crc, visitor) == Run::good && end == walk.run_end) return true;
    }
    if (walk.at != walk.run_end) {
      // It was good, and now reads differently.
      ++walk.unreadable_runs;
      walk.at = walk.run_end;
      forget(walk);
    }
    visitor.from = {};
    return find_run(walk, visitor);
  }

  /// Goes on to entries with a good CRC. False at the end of the log. Damaged bytes decide nothing: whether
  /// the directory is still the same is not known behind them.
  template <class Visitor>
  bool find_run(Walk& walk, Visitor& visitor) const {
    for (;;) {
      Position end = walk.at;
      const Walk::RunBegin begin = {walk.at, walk.run_crc};
      const Run run = check_run(end, begin.crc, visitor);
      if (run == Run::good) {
        take_run(walk, begin, end);
        return true;
      }
      walk.run_crc = 0;
      std::uint32_t damaged_in = walk.at.segment;
      if (run != Run::none) {
        ++walk.unreadable_runs;
        forget(walk);
      }
      if (run == Run::bad && resume(walk, end, visitor)) return true;
      if (run != Run::none && search(walk, visitor)) return true;
      // `to_entry` may have gone on to a following segment that holds nothing.
      if (run == Run::none) damaged_in = std::max(damaged_in, end.segment);
      if (!resynchronise(walk, damaged_in + 1, visitor)) return false;
      if (walk.at != walk.run_end) return true;
    }
  }

  /// Behind a run that has a wrong CRC, if another begins there.
  template <class Visitor>
  bool resume(Walk& walk, Position at, Visitor& visitor) const {
    Position end = at;
    if (check_run(end, 0, visitor) != Run::good) return false;
    take_run(walk, {at, 0}, end);
    return true;
  }

  /// Tries every byte behind `walk` in the same segment.
  template <class Visitor>
  bool search(Walk& walk, Visitor& visitor) const {
    constexpr std::uint64_t kTryBytes = 16;  // what a try costs that ends at once
    Position at = walk.at;
    while (++at.offset < segments_[at.segment].end && search_left_ != 0) {
      Position begin = at;
      Entry entry;
      // Padding is skipped by `to_entry`; elsewhere only what looks like an entry is worth a CRC.
      const bool head = take_head(begin, entry);
      begin = entry.begin;
      Position end = begin;
      const bool good = head && check_run(end, 0, visitor) == Run::good;
      const std::uint64_t cost = kTryBytes + (head ? bytes_between(begin, end) : 0);
      search_left_ -= std::min(cost, search_left_);
      search_ended_ = search_ended_ || search_left_ == 0;
      if (!good) continue;
      take_run(walk, {begin, 0}, end);
      forget(walk);
      return true;
    }
    return false;
  }

  /// Goes to the first entry that begins in `segment` or a later one.
  template <class Visitor>
  bool resynchronise(Walk& walk, std::uint32_t segment, Visitor& visitor) const {
    for (; segment < segments_.size(); ++segment) {
      enter(walk, segment);
      const std::uint32_t left = segments_[segment].left;
      if (left == kUnknownLeft) {
        if (search(walk, visitor)) return true;
        continue;
      }
      std::uint32_t crc = segments_[segment].run_crc;
      std::byte memory[256];
      const bool taken = take(walk.at, left / 2, memory, [&](Bytes bytes) {
        crc = crc32(crc, bytes);
        return true;
      });
      if (!taken) continue;
      walk.run_crc = left % 2 == 0 ? crc : 0;
      walk.run_end = walk.at;
      return true;
    }
    return false;
  }

  // Objects.

  /// Finds out what became of an object that has just begun.
  void follow(Object& object) const {
    Account account{.number = object.number, .before = {.begun = true}};
    Walk walk = object.walk;
    while (!account.before.ended && visit(walk, account) && walk.first_segment == object.walk.first_segment) {
      account.before = account.now;
      walk.at = walk.run_end;
    }
    object.bytes = account.before.bytes;
    object.state = account.before.state;
    if (object.state == ObjectState::committed && account.before.paired)
      object.state = state_with(account.before.partner, walk);
  }

  /// What an object is that was committed in the run before `pair` with another one: as that.
  ObjectState state_with(std::uint32_t partner, const Walk& pair) const {
    if (partner == kObjectNumbers) return ObjectState::damaged;
    Account account{.number = partner, .again = true};
    Walk walk;
    Ignore ignore;
    if (!resynchronise(walk, pair.first_segment, ignore)) return ObjectState::damaged;
    do {
      if (account.before.ended) account.before = {};  // an older object had that number
      if (!visit(walk, account)) return ObjectState::damaged;
      account.before = account.now;
      walk.at = walk.run_end;
    } while (walk.run.at < pair.run.at);
    if (account.before.begun) return account.before.state;
    const bool cut_off = pair.first_segment == 0 && !segments_[0].starts && walk.unreadable_runs == 0;
    return cut_off ? ObjectState::overwritten : ObjectState::damaged;
  }

  void name_object(const Entry& entry, Object& object) {
    const std::size_t file_bytes = entry.head.body_bytes();
    const MutableBytes file = place_for_file(file_bytes);
    object.directory_known = load(object.walk.directory, file.size(), object.directory);
    object.file = as_text(file);
  }

  void name_journal(Object& object) {
    std::string_view path;
    object.directory_known = load(object.walk.journal, 0, path);
    const std::size_t slash = path.rfind('/');
    if (slash != path.npos) object.directory = path.substr(0, slash);
    object.file = path.substr(slash + 1);
  }

  /// At the end of the reader's memory; empty when it does not fit.
  MutableBytes place_for_file(std::size_t bytes) {
    if (bytes > names_.size()) return {};
    if (bytes > names_.size() - cached_.bytes) cached_.known = false;
    return std::as_writable_bytes(names_.last(bytes));
  }

  /// Copies the name that `reference` refers to to the reader's memory, of which `taken` bytes are. Empty when
  /// it does not fit; false when it is not known.
  bool load(const Walk::Reference& reference, std::size_t taken, std::string_view& name) {
    if (!reference.known) return false;
    if (reference.bytes > names_.size() - taken) {
      cached_.known = false;
      return true;
    }
    const std::span<char> to = names_.first(reference.bytes);
    name = {to.data(), to.size()};
    if (cached_.known && cached_.at == reference.at) return true;
    cached_ = reference;
    Capture capture{reference.at, std::as_writable_bytes(to)};
    for (std::uint32_t tries = kReadTries; tries != 0; --tries) {
      Position at = reference.run.at;
      if (check_run(at, reference.run.crc, capture) == Run::good) return true;
    }
    cached_.known = false;
    name = {};
    return false;
  }

  const Device device_;
  std::span<char> names_;
  std::span<Segment> segments_;
  mutable std::uint64_t search_left_ = 0;
  mutable bool search_ended_ = false;
  bool ended_ = true;
  Walk walk_;
  std::bitset<kObjectNumbers> begun_;  // and not ended, in the stream below
  std::uint32_t begun_in_ = 0;
  Walk::Reference cached_;  // the directory or journal at the beginning of `names_`
};

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::flashlog
