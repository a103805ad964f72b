#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "opdump/base/bytes.hpp"
#include "opdump/base/crc32.hpp"
#include "opdump/port/sink.hpp"
#include "platform/flashlog/block.hpp"
#include "platform/flashlog/dumped_log.hpp"
#include "platform/flashlog/format.hpp"

namespace opdump::flashlog {
inline namespace OPDUMP_NAMESPACE {

/// Is handed the entries of a tape.
class TapeVisitor {
 public:
  virtual void entry(EntryHead head) = 0;
  /// The next bytes of its body.
  virtual void body(Bytes bytes) = 0;
  /// All of its body has come; where a CRC follows, that was good.
  virtual void end() = 0;

 protected:
  ~TapeVisitor() = default;
};

/// The log below a history: steps, objects with their facts, and a way to read back what was written, of
/// which some may still be in the page. It always overwrites the oldest block. Format: format.hpp.
class HistoryTape final : public DumpedLog {
 public:
  /// A byte of the tape. One behind the end of a block is the one with which the stream goes on.
  struct Place {
    std::uint32_t sequence = 0;  ///< of its block; 0: nowhere
    std::uint32_t block = 0;
    std::uint32_t offset = 0;
  };

  /// What stands at a place: entries up to a CRC that is good; up to a wrong one; bytes that are no entries;
  /// entries without a CRC, or nothing, before the end of the stream.
  enum class Run : std::uint8_t { good, bad, broken, open, none };

  HistoryTape(const Device& device, MutableBytes memory, const Options& options)
      : DumpedLog(device, memory, options, kHistoryFormat) {
    options_.policy = Policy::overwrite_oldest;
    options_.erase_budget = UINT32_MAX;
  }

  /// `step` begins: it can be read from behind its mark on, names included.
  [[nodiscard]] Status begin_step(std::uint64_t step) {
    const Status status = seal(step);
    forget_names();
    settle();
    return status;
  }

  /// Programs what a block begins with, if that is in the page still: only then places in the block stay,
  /// also when it fails.
  void settle() {
    if (prefix_ != 0) flush();
  }

  /// Gives what was written in `step` so far its CRC.
  [[nodiscard]] Status seal(std::uint64_t step) {
    const StepMark mark = {step};
    return write_one(Kind::step, bytes_of(mark));
  }

  [[nodiscard]] Status mark(const WrittenOutMark& mark) {
    return write_one(Kind::written_out, bytes_of(mark));
  }

  /// For the object, or the lines, that come next.
  [[nodiscard]] Status tell_facts(const ObjectName& name) {
    FactsHead head{};
    if constexpr (!build::kLean) {
      const ObjectFacts facts = name.facts;
      head.step = facts.step;
      head.unix_us = facts.unix_us;
      head.load = facts.load;
      head.kind = static_cast<std::uint8_t>(facts.kind);
      head.dump_bytes = facts.dump_bytes;
    }
    const Bytes parts[] = {bytes_of(head), as_bytes(name.root)};
    return write(entry_of(Kind::facts, 0), parts, sizeof head + name.root.size());
  }

  /// Where the next entry will stand. Behind an entry with a CRC a run begins there.
  Place end() const { return {sequence_, block_, at_ + used_}; }

  bool is_end(const Place& at) const { return at.sequence == sequence_; }

  /// Whether the block of that number may have been erased.
  bool is_gone(std::uint32_t sequence) const { return blocks_since(sequence) > usable_blocks(); }

  /// Whether `bytes` more bytes, with their entries' own, leave the block of that number alone.
  bool has_room(std::uint32_t bytes, std::uint32_t sequence) const {
    const std::uint32_t needed =
        bytes / (geometry().block_bytes - kPrefixBytes - geometry().program_bytes) + 2;
    const std::uint32_t ahead = last_sequence_ - sequence_ + (erased_ != kNoBlock ? 1 : 0);
    return blocks_since(sequence) + (needed > ahead ? needed - ahead : 0) <= usable_blocks();
  }

  /// Whether `prepare` leaves the block of that number alone.
  bool may_prepare(std::uint32_t sequence) const { return blocks_since(sequence) < usable_blocks(); }

  /// After `settle`. Hands the entries from `at`, where a run begins, up to the next CRC to `visitor`, if
  /// that is not null. `at` moves behind a CRC, good or bad; otherwise as far as it can be read.
  Run take_run(Place& at, TapeVisitor* visitor) const {
    std::uint32_t crc = 0;
    for (Run without = Run::none;; without = Run::open) {
      const Run found = to_entry(at);
      if (found != Run::good) return found == Run::none ? without : found;
      EntryHead head;
      if (!take(at, reinterpret_cast<std::byte*>(&head), sizeof head)) return Run::open;
      if (head.kind() < Kind::directory || head.kind() > Kind::written_out) return Run::broken;
      crc = crc32(crc, bytes_of(head));
      if (visitor != nullptr) visitor->entry(head);
      for (std::uint32_t left = head.body_bytes(); left != 0;) {
        std::byte piece[kPieceBytes];
        const std::uint32_t bytes = left < kPieceBytes ? left : kPieceBytes;
        if (!take(at, piece, bytes)) return Run::open;
        crc = crc32(crc, {piece, bytes});
        if (visitor != nullptr) visitor->body({piece, bytes});
        left -= bytes;
      }
      if (head.sealed()) {
        Little<std::uint32_t> expected;
        if (!take(at, reinterpret_cast<std::byte*>(&expected), sizeof expected)) return Run::open;
        if (crc != expected) return Run::bad;
      }
      if (visitor != nullptr) visitor->end();
      if (head.sealed()) return Run::good;
    }
  }

  /// Goes to the first entry that begins in a later block of the stream. False when there is none.
  bool to_next_block(Place& at) const {
    do {
      link(at);
      if (link_.sequence == 0) return false;
      at = {link_.sequence, link_.block, link_.begin};
    } while (!skip_left(at));
    return true;
  }

  /// Finds the newest boot before `before` of which there is something, and the first entry of it. 0: none.
  std::uint32_t find_boot(std::uint32_t before, Place& at) const {
    Begin first{}, here{};
    std::uint32_t block = 0;
    for (std::uint32_t i = 0; i < geometry().block_count; ++i) {
      if (!read_begin(i, here) || here.start.boot >= before || here.start.boot < first.start.boot) continue;
      // Not by way of the blocks between, which may have lost their programs: the latest that begins a stream,
      // as one before it may have failed, or the oldest.
      const bool begins = here.start.previous_end == kNewStream;
      const bool known = first.start.previous_end == kNewStream;
      const bool later = here.sequence > first.sequence;
      if (here.start.boot == first.start.boot && (begins ? known && !later : known || later)) continue;
      first = here;
      block = i;
    }
    if (first.sequence == 0) return 0;
    at = {first.sequence, block, first.offset};
    return skip_left(at) || to_next_block(at) ? std::uint32_t{first.start.boot} : 0;
  }

 private:
  static constexpr std::uint32_t kPieceBytes = 128;

  /// What a block begins with.
  struct Begin {
    std::uint32_t sequence = 0;
    std::uint32_t offset = 0;  ///< behind it
    BlockStart start;
  };

  /// How the stream goes on behind a block that is written no more.
  struct Link {
    std::uint32_t of = 0;        // the block's number
    std::uint32_t end = 0;       // of the stream in it
    std::uint32_t sequence = 0;  // of the block that follows; 0: none
    std::uint32_t block = 0;
    std::uint32_t begin = 0;
  };

  Status write_one(Kind kind, Bytes body) { return write(entry_of(kind, 0), &body, body.size()); }

  /// That block, and those that may have been taken or erased since, at most.
  std::uint32_t blocks_since(std::uint32_t sequence) const {
    return last_sequence_ - sequence + (erased_ != kNoBlock ? 2 : 1);
  }

  std::uint32_t usable_blocks() const { return geometry().block_count - retired_count_; }

  bool is_retired(std::uint32_t block) const {
    for (std::uint32_t i = 0; i < retired_count_; ++i) {
      if (retired_[i] == block) return true;
    }
    return false;
  }

  /// Whether `block` goes on in the page.
  bool is_written(std::uint32_t block) const {
    return block == block_ && at_ != kNewStream && stuck_ == Status::ok;
  }

  bool read_at(std::uint32_t block, std::uint32_t offset, std::byte* to, std::uint32_t bytes) const {
    if (is_written(block)) {
      const std::uint32_t programmed = at_ + kept_;
      const std::uint32_t first = offset < programmed ? programmed - offset : 0;
      if (first < bytes) {
        std::memcpy(to + first, page_ + (offset + first - at_), bytes - first);
        bytes = first;
      }
    }
    if (bytes == 0) return true;
    for (std::uint32_t tries = kReadTries; tries != 0; --tries) {
      if (device_.read(device_.context, block, offset, {to, bytes}) == Status::ok) return true;
    }
    return false;
  }

  /// False when `block` holds no part of a stream.
  [[gnu::noinline]] bool read_begin(std::uint32_t block, Begin& begin) const {
    Header header;
    if (!read_at(block, 0, header.bytes(), sizeof header) || !is_header(header) ||
        !is_known(header.head, geometry(), block))
      return false;
    begin.sequence = header.head.sequence;
    BlockStart& start = begin.start;
    const std::uint32_t bytes = header.head.bytes;
    for (const std::uint32_t at : {bytes, round_up(bytes, geometry().program_bytes)}) {
      if (at > geometry().block_bytes - sizeof start) return false;
      begin.offset = at + static_cast<std::uint32_t>(sizeof start);
      if (read_at(block, at, reinterpret_cast<std::byte*>(&start), sizeof start) &&
          start.head.kind() == Kind::start && start.head.body_bytes() == BlockStart::kBodyBytes &&
          start.crc == crc32(0, bytes_of(start).first(sizeof start - kCrcBytes)))
        return true;
    }
    return false;
  }

  /// Finds out how the stream goes on behind the block of `at`.
  void link(const Place& at) const {
    if (link_.of == at.sequence) return;
    link_ = {.of = at.sequence, .end = geometry().block_bytes};
    std::uint32_t block = at.block;
    for (std::uint32_t i = 1; i < geometry().block_count; ++i) {
      block = block_after(block);
      Begin next;
      if (!read_begin(block, next) || next.sequence <= at.sequence || next.start.previous != at.sequence)
        continue;
      const std::uint32_t end = next.start.previous_end;
      if (end <= geometry().block_bytes)
        link_ = {
            .of = at.sequence, .end = end, .sequence = next.sequence, .block = block, .begin = next.offset};
      // Where the first try to go on failed, another block follows it.
      if (!is_retired(block)) return;
    }
  }

  /// Bytes that follow `at` in one block; goes on to where they are. 0 at the end.
  std::uint32_t readable(Place& at) const {
    for (;;) {
      if (at.sequence == sequence_ && is_written(at.block)) {
        const std::uint32_t end = at_ + used_;
        return end > at.offset ? end - at.offset : 0;
      }
      link(at);
      if (at.offset < link_.end) return link_.end - at.offset;
      if (link_.sequence == 0) return 0;
      at = {link_.sequence, link_.block, link_.begin + at.offset - link_.end};
    }
  }

  bool take(Place& at, std::byte* to, std::uint32_t bytes) const {
    while (bytes != 0) {
      std::uint32_t now = readable(at);
      if (now == 0) return false;
      if (now > bytes) now = bytes;
      if (!read_at(at.block, at.offset, to, now)) return false;
      at.offset += now;
      to += now;
      bytes -= now;
    }
    return true;
  }

  /// Over void bytes to where an entry begins. `none`: there is no other.
  Run to_entry(Place& at) const {
    for (;;) {
      const std::uint32_t room = readable(at);
      if (room == 0) return Run::none;
      std::byte first;
      if (!read_at(at.block, at.offset, &first, 1)) return Run::broken;
      if (first != geometry().erased) return Run::good;
      const std::uint32_t past = at.offset % geometry().program_bytes;
      const std::uint32_t step = past == 0 ? room : geometry().program_bytes - past;
      if (past == 0 && link_.of == at.sequence && link_.sequence == 0) return Run::none;
      at.offset += step < room ? step : room;
    }
  }

  /// From the beginning of a block over what belongs to an entry that began before it. False when it is not
  /// known how much that is.
  bool skip_left(Place& at) const {
    Begin begin;
    if (!read_begin(at.block, begin) || begin.start.left == kUnknownLeft) return false;
    for (std::uint32_t left = begin.start.left / 2; left != 0;) {
      std::uint32_t now = readable(at);
      if (now == 0) return true;
      if (now > left) now = left;
      at.offset += now;
      left -= now;
    }
    return true;
  }

  mutable Link link_;
};

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::flashlog
