#pragma once
#include <algorithm>
#include <bitset>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

#include "opdump/bytes.hpp"
#include "opdump/crc32.hpp"
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
  std::uint32_t begin = 0;    ///< offset of the first byte of the stream
  std::uint32_t end = 0;      ///< offset behind the last one
  bool follows = false;       ///< the stream comes from the segment before
};

enum class ObjectState : std::uint8_t {
  committed,    ///< whole
  aborted,      ///< given up by the writer
  torn,         ///< never ended: power went, or the log was full
  damaged,      ///< ended, but bytes of it or its directory are lost
  overwritten,  ///< ended, but its beginning, with its name, is gone
  lines,        ///< not an object: bytes that were added to a journal
};

/// Reads a log from a device or an image of it, which nobody vouches for: each byte that is given out stands
/// under a valid CRC, and damage costs what it hit.
///
///     LogReader reader(device, names);
///     Status status = reader.open(segments);
///     for (LogReader::Object object; reader.next(object);) ...
///
/// Not thread-safe; the log must not be written meanwhile.
class LogReader {
 public:
  struct Position {
    std::uint32_t segment = 0;
    std::uint32_t offset = 0;
    friend bool operator==(const Position&, const Position&) = default;
  };

  /// A way through the log, entry by entry.
  struct Walk {
    struct Reference {
      Position at;
      std::uint32_t bytes = 0;
      bool known = false;
    };
    Position at;
    Position run_end;                 // behind the last entry under the CRC that was checked
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
    Walk walk;  ///< behind the object's first entry
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
    ended_ = !resynchronise(walk_, 0);
    begun_.reset();
    begun_in_ = 0;
    return Status::ok;
  }

  /// Gives the next object in the order of their beginnings, or journal lines in the order in which they were
  /// written. False after the last.
  bool next(Object& object) {
    Entry entry;
    while (!ended_ && next_entry(walk_, entry)) {
      if (begun_in_ != walk_.first_segment) begun_.reset();
      begun_in_ = walk_.first_segment;
      const std::uint32_t number = entry.head.number();
      object = {};
      object.number = number;
      object.walk = walk_;
      switch (entry.head.kind()) {
        case Kind::begin:
          begun_.set(number);
          name_object(entry, object);
          follow(object);
          if (object.state == ObjectState::committed && !object.directory_known) {
            object.state = ObjectState::damaged;
          }
          return true;
        case Kind::commit:
        case Kind::commit_with_next:
        case Kind::abort: {
          const bool begun = begun_.test(number);
          begun_.reset(number);
          if (begun) break;
          object.state = ObjectState::overwritten;
          return true;
        }
        case Kind::lines:
          object.state = ObjectState::lines;
          object.bytes = entry.head.body_bytes();
          object.walk.at = entry.body;
          name_journal(object);
          return true;
        default:
          break;
      }
    }
    ended_ = true;
    return false;
  }

  /// Calls `use(Bytes)` with the object's bytes in order, in pieces that fit `memory`, while it returns true.
  /// An object that is not committed gives what is left of it. `io_error` when the device fails.
  template <class Use>
  [[nodiscard]] Status read(const Object& object, MutableBytes memory, Use use) const {
    if (object.state == ObjectState::overwritten) return Status::ok;
    Position lines = object.walk.at;
    if (object.state == ObjectState::lines)
      return read_body(lines, static_cast<std::uint32_t>(object.bytes), memory, use);
    Walk walk = object.walk;
    std::uint64_t left = object.bytes;
    Entry entry;
    while (left != 0 && next_entry(walk, entry)) {
      if (entry.head.number() != object.number || entry.head.kind() != Kind::data) continue;
      if (const Status status = read_body(entry.body, entry.head.body_bytes(), memory, use);
          status != Status::ok) {
        return status;
      }
      left -= entry.head.body_bytes();
    }
    return left == 0 ? Status::ok : Status::io_error;
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

  // Blocks.

  bool read_segment(std::uint32_t block, Segment& segment) const {
    Header header;
    if (look_at(device_, block, header) != BlockUse::taken) return false;
    const std::uint32_t bytes = header.head.bytes;
    for (const std::uint32_t at : {bytes, round_up(bytes, device_.geometry.program_bytes)}) {
      BlockStart start;
      if (at > device_.geometry.block_bytes - sizeof start) return false;
      MutableBytes memory = std::as_writable_bytes(std::span(&start, 1));
      if (device_.read(device_.context, block, at, memory) != Status::ok) return false;
      if (start.head.kind() != Kind::start || start.head.body_bytes() != BlockStart::kBodyBytes ||
          start.crc != crc32(0, bytes_of(start).first(sizeof start - kCrcBytes))) {
        continue;
      }
      segment = {
          .sequence = header.head.sequence,
          .block = block,
          .previous = start.previous,
          .previous_end = start.previous_end,
          .left = start.left,
          .run_crc = start.run_crc,
          .begin = at + static_cast<std::uint32_t>(sizeof start),
          .end = device_.geometry.block_bytes,
          .follows = false,
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
      segments[count++] = next;
    }
    return count;
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
      const bool good = device_.read(device_.context, block, offset, to.first(piece)) == Status::ok;
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
          return device_.read(device_.context, block, offset, to) == Status::ok && use(Bytes(to));
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
      if (device_.read(device_.context, segment.block, at.offset, {&first, 1}) != Status::ok) return false;
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

  /// Checks the entries from `at` up to the next CRC, which covers what has the CRC `crc` before. `at`
  /// becomes where they end, if they are `good` or just their CRC is `bad`; `refers` tells whether there is a
  /// directory or journal among them. `broken`: they end nowhere; `none`: there is not even a first.
  Run check_run(Position& at, std::uint32_t crc, bool& refers) const {
    refers = false;
    if (!to_entry(at)) return Run::none;
    for (;;) {
      Entry entry;
      if (!take_head(at, entry)) return Run::broken;
      refers = refers || entry.head.kind() == Kind::directory || entry.head.kind() == Kind::journal;
      crc = crc32(crc, bytes_of(entry.head));
      std::byte memory[256];
      const bool taken = take(at, entry.head.body_bytes(), memory, [&](Bytes bytes) {
        crc = crc32(crc, bytes);
        return true;
      });
      if (!taken) return Run::broken;
      if (!entry.head.sealed()) continue;
      Little<std::uint32_t> expected;
      if (!take_value(at, expected)) return Run::broken;
      return crc == expected ? Run::good : Run::bad;
    }
  }

  void enter(Walk& walk, std::uint32_t segment) const {
    walk.at = {segment, segments_[segment].begin};
    if (!segments_[segment].follows) walk.first_segment = segment;
    forget(walk);
  }

  static void forget(Walk& walk) {
    walk.run_end = walk.at;
    walk.run_crc = 0;
    walk.directory.known = walk.journal.known = false;
  }

  /// Goes on to entries with a good CRC. False at the end of the log.
  bool find_run(Walk& walk) const {
    for (;;) {
      Position end = walk.at;
      bool refers = false;
      const Run run = check_run(end, walk.run_crc, refers);
      walk.run_crc = 0;
      if (run == Run::good) {
        walk.run_end = end;
        return true;
      }
      std::uint32_t damaged_in = walk.at.segment;
      if (run != Run::none) ++walk.unreadable_runs;
      if (run == Run::bad && resume(walk, end, refers)) return true;
      if (run != Run::none && search(walk)) return true;
      // `to_entry` may have gone on to a following segment that holds nothing.
      if (run == Run::none) damaged_in = std::max(damaged_in, end.segment);
      if (!resynchronise(walk, damaged_in + 1)) return false;
    }
  }

  /// Behind a run that has a wrong CRC, if another begins there.
  bool resume(Walk& walk, Position at, bool refers) const {
    Position end = at;
    bool ignored = false;
    if (check_run(end, 0, ignored) != Run::good) return false;
    walk.at = at;
    walk.run_end = end;
    if (refers) walk.directory.known = walk.journal.known = false;
    return true;
  }

  /// Tries every byte behind `walk` in the same segment.
  bool search(Walk& walk) const {
    constexpr std::uint64_t kTryBytes = 16;  // what a try costs that ends at once
    Position at = walk.at;
    while (++at.offset < segments_[at.segment].end && search_left_ != 0) {
      Position begin = at;
      Entry entry;
      // Padding is skipped by `to_entry`; elsewhere only what looks like an entry is worth a CRC.
      const bool head = take_head(begin, entry);
      begin = entry.begin;
      Position end = begin;
      bool ignored = false;
      const bool good = head && check_run(end, 0, ignored) == Run::good;
      const std::uint64_t cost = kTryBytes + (head ? bytes_between(begin, end) : 0);
      search_left_ -= std::min(cost, search_left_);
      search_ended_ = search_ended_ || search_left_ == 0;
      if (!good) continue;
      walk.at = begin;
      forget(walk);
      walk.run_end = end;
      return true;
    }
    return false;
  }

  /// Goes to the first entry that begins in `segment` or a later one.
  bool resynchronise(Walk& walk, std::uint32_t segment) const {
    for (; segment < segments_.size(); ++segment) {
      enter(walk, segment);
      const std::uint32_t left = segments_[segment].left;
      if (left == kUnknownLeft) {
        if (search(walk)) return true;
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

  bool next_entry(Walk& walk, Entry& entry) const {
    if (walk.at == walk.run_end && !find_run(walk)) return false;
    if (!take_head(walk.at, entry) || !skip(walk.at, entry.head.body_bytes())) return false;
    if (entry.head.sealed() && !skip(walk.at, kCrcBytes)) return false;
    const Walk::Reference reference = {entry.body, entry.head.body_bytes(), true};
    if (entry.head.kind() == Kind::directory) walk.directory = reference;
    if (entry.head.kind() == Kind::journal) walk.journal = reference;
    return true;
  }

  // Objects.

  /// Finds out what became of an object that has just begun.
  void follow(Object& object) const {
    Walk walk = object.walk;
    Entry entry;
    while (next_entry(walk, entry) && walk.first_segment == object.walk.first_segment) {
      if (entry.head.number() != object.number) continue;
      if (entry.head.kind() == Kind::data) object.bytes += entry.head.body_bytes();
      if (entry.head.kind() == Kind::abort) object.state = ObjectState::aborted;
      if (entry.head.kind() == Kind::commit || entry.head.kind() == Kind::commit_with_next) {
        Little<std::uint32_t> bytes;
        const bool good = entry.head.body_bytes() == sizeof bytes && take_value(entry.body, bytes) &&
                          bytes == static_cast<std::uint32_t>(object.bytes);
        object.state = good ? ObjectState::committed : ObjectState::damaged;
      }
      if (entry.head.kind() != Kind::data) return;
    }
  }

  void name_object(const Entry& entry, Object& object) {
    object.directory_known = object.walk.directory.known;
    std::size_t used = 0;
    if (object.directory_known) {
      object.directory = text(object.walk.directory.at, object.walk.directory.bytes, used);
    }
    object.file = text(entry.body, entry.head.body_bytes(), used);
  }

  void name_journal(Object& object) {
    object.directory_known = object.walk.journal.known;
    if (!object.directory_known) return;
    std::size_t used = 0;
    const std::string_view path = text(object.walk.journal.at, object.walk.journal.bytes, used);
    const std::size_t slash = path.rfind('/');
    if (slash != path.npos) object.directory = path.substr(0, slash);
    object.file = path.substr(slash + 1);
  }

  /// Copies a name to the reader's memory; empty when it does not fit.
  std::string_view text(Position at, std::uint32_t bytes, std::size_t& used) {
    if (bytes > names_.size() - used) return {};
    const std::span<char> to = names_.subspan(used, bytes);
    if (!take(at, std::as_writable_bytes(to))) return {};
    used += bytes;
    return {to.data(), to.size()};
  }

  template <class Use>
  Status read_body(Position at, std::uint32_t bytes, MutableBytes memory, Use& use) const {
    bool wanted = true;
    const bool taken = take(at, bytes, memory, [&](Bytes piece) { return wanted = use(piece); });
    return taken || !wanted ? Status::ok : Status::io_error;
  }

  const Device& device_;
  std::span<char> names_;
  std::span<Segment> segments_;
  mutable std::uint64_t search_left_ = 0;
  mutable bool search_ended_ = false;
  bool ended_ = true;
  Walk walk_;
  std::bitset<kObjectNumbers> begun_;  // and not ended, in the stream below
  std::uint32_t begun_in_ = 0;
};

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::flashlog
