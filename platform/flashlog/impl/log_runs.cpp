#include "platform/flashlog/impl/log_runs.hpp"

#include <algorithm>

#include "opdump/base/crc32.hpp"
#include "platform/flashlog/impl/lost_blocks.hpp"

namespace opdump::flashlog {
inline namespace OPDUMP_NAMESPACE {
namespace {

/// The number up to which the blocks of a log are given up, by what one of them says.
std::uint32_t given_up_by(Header& header) {
  const auto number = load_little_endian<std::uint32_t>(header.bytes() + header.head.bytes - kHeaderEndBytes);
  return number < header.head.sequence ? number : 0;
}

void forget(Walk& walk) {
  walk.directory.known = walk.journal.known = false;
}

void take_run(Walk& walk, Walk::RunBegin run, Position end) {
  walk.at = run.at;
  walk.run = run;
  walk.run_end = end;
  walk.run_crc = 0;
}

}  // namespace

Status LogRuns::open(std::span<Segment> segments, std::uint64_t search_bytes) {
  if (!is_usable(device_.geometry)) return Status::invalid_argument;
  if (segments.size() < device_.geometry.block_count) return Status::no_memory;
  segments_ = segments.first(0);
  search_left_ = search_bytes;
  search_ended_ = false;
  std::uint32_t count = 0;
  std::uint32_t given_up = 0;
  RetiredBlocks retired;
  for (std::uint32_t block = 0; block < device_.geometry.block_count; ++block) {
    Header header;
    const BlockUse use = look_at(device_, block, header);
    if (use == BlockUse::prepared || use == BlockUse::taken) retired.add(header);
    if (use != BlockUse::taken) continue;
    given_up = std::max(given_up, given_up_by(header));
    if (!read_segment(block, header.head, segments[count])) continue;
    segments[count++].given_up = given_up_by(header);
  }
  for (Segment& segment : segments.first(count)) segment.retired = retired.may_have(segment.block);
  std::sort(segments.begin(), segments.begin() + count,
            [](const Segment& a, const Segment& b) { return a.sequence < b.sequence; });
  segments_ = segments.first(link(segments.first(count), given_up));
  LostBlocks(*this, segments_, retired).mark();
  return Status::ok;
}

/// Ties the segments to streams, and leaves out those that are void.
std::size_t LogRuns::link(std::span<Segment> segments, std::uint32_t given_up) const {
  std::size_t count = 0;
  for (Segment next : segments) {
    while (count != 0 && segments[count - 1].sequence > next.previous) --count;
    const Segment* const last = count != 0 ? &segments[count - 1] : nullptr;
    const bool named = last != nullptr && last->sequence == next.previous;
    if (named && next.previous_end >= last->begin && next.previous_end <= last->end) {
      segments[count - 1].end = next.previous_end;
      next.follows = true;
    }
    const bool given = last != nullptr && !named && last->retired && last->sequence <= given_up;
    if (given && (last->sequence < next.given_up || was_overwritten(last->block, next))) count = 0;
    segments[count++] = next;
  }
  return count;
}

/// Whether a block between `block` and that of `next` was erased after `next` was written.
bool LogRuns::was_overwritten(std::uint32_t block, const Segment& next) const {
  for (;;) {
    block = block_after(block);
    if (block == next.block) return false;
    Header header;
    const BlockUse use = look_at(device_, block, header);
    if (use == BlockUse::none) return true;
    const bool known = use == BlockUse::prepared || use == BlockUse::taken;
    if (known && header.head.sequence > next.sequence) return true;
  }
}

std::uint32_t LogRuns::block_after(std::uint32_t block) const {
  return block + 1 == device_.geometry.block_count ? 0 : block + 1;
}

bool LogRuns::holds_run(std::uint32_t block) const {
  Segment whole = {.block = block, .end = device_.geometry.block_bytes};
  LogRuns alone(device_);
  alone.segments_ = {&whole, 1};
  alone.search_left_ = search_left_;
  Walk walk;
  NoVisitor visitor;
  const bool found = alone.search(walk, visitor);
  search_left_ = alone.search_left_;
  search_ended_ = search_ended_ || alone.search_ended_;
  return found;
}

bool LogRuns::read_segment(std::uint32_t block, const BlockHeader& head, Segment& segment) const {
  const std::uint32_t bytes = head.bytes;
  for (const std::uint32_t at : {bytes, round_up(bytes, device_.geometry.program_bytes)}) {
    BlockStart start;
    if (at > device_.geometry.block_bytes - sizeof start) return false;
    const MutableBytes memory = std::as_writable_bytes(std::span(&start, 1));
    if (!read_block(block, at, memory)) return false;
    if (start.head.kind() != Kind::start || start.head.body_bytes() != BlockStart::kBodyBytes ||
        start.crc != crc32(0, memory.first(sizeof start - kCrcBytes)))
      continue;
    segment = {
        .sequence = head.sequence,
        .block = block,
        .previous = start.previous,
        .previous_end = start.previous_end,
        .left = start.left,
        .run_crc = start.run_crc,
        .boot = start.boot,
        .begin = at + static_cast<std::uint32_t>(sizeof start),
        .end = device_.geometry.block_bytes,
        .follows = false,
        .starts = start.previous_end == kNewStream,
    };
    return true;
  }
  return false;
}

bool LogRuns::read_block(std::uint32_t block, std::uint32_t offset, MutableBytes to) const {
  for (std::uint32_t tries = kReadTries; tries != 0; --tries) {
    if (device_.read(device_.context, block, offset, to) == Status::ok) return true;
  }
  return false;
}

bool LogRuns::to_next(Position& at) const {
  if (at.segment + 1 >= segments_.size() || !segments_[at.segment + 1].follows) return false;
  at = {at.segment + 1, segments_[at.segment + 1].begin};
  return true;
}

/// Calls `use(block, offset, size)` for the next `bytes` bytes, in pieces of at most `most`. False when the
/// stream ends before or `use` says so.
template <class Use>
bool LogRuns::for_pieces(Position& at, std::uint32_t bytes, std::size_t most, Use use) const {
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

std::uint64_t LogRuns::bytes_between(Position from, Position to) const {
  std::uint64_t bytes = 0;
  for (; from.segment != to.segment; from = {from.segment + 1, segments_[from.segment + 1].begin})
    bytes += segments_[from.segment].end - from.offset;
  return bytes + to.offset - from.offset;
}

bool LogRuns::skip(Position& at, std::uint32_t bytes) const {
  return for_pieces(at, bytes, bytes, [](auto...) { return true; });
}

/// Copies the next bytes.
bool LogRuns::take(Position& at, MutableBytes to) const {
  const std::uint32_t bytes = static_cast<std::uint32_t>(to.size());
  return for_pieces(at, bytes, bytes, [&](std::uint32_t block, std::uint32_t offset, std::uint32_t piece) {
    const bool good = read_block(block, offset, to.first(piece));
    to = to.subspan(piece);
    return good;
  });
}

template <class T>
bool LogRuns::take_value(Position& at, T& value) const {
  return take(at, {reinterpret_cast<std::byte*>(&value), sizeof value});
}

/// Calls `use(Bytes)` with the next bytes, in pieces that fit `memory`, which is not empty.
template <class Use>
bool LogRuns::take(Position& at, std::uint32_t bytes, MutableBytes memory, Use use) const {
  return for_pieces(at, bytes, memory.size(),
                    [&](std::uint32_t block, std::uint32_t offset, std::uint32_t piece) {
                      const MutableBytes to = memory.first(piece);
                      return read_block(block, offset, to) && use(Bytes(to));
                    });
}

/// Goes to where the next entry begins; false when there is none.
bool LogRuns::to_entry(Position& at) const {
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

bool LogRuns::take_head(Position& at, Entry& entry) const {
  if (!to_entry(at)) return false;
  entry.begin = at;
  if (!take_value(at, entry.head)) return false;
  entry.body = at;
  return entry.head.kind() >= Kind::directory && entry.head.kind() <= Kind::written_out;
}

LogRuns::Run LogRuns::check(Position& at, std::uint32_t crc, RunVisitor& visitor, MutableBytes memory) const {
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

LogRuns::Run LogRuns::check(Position& at, std::uint32_t crc, RunVisitor& visitor) const {
  std::byte memory[256];
  return check(at, crc, visitor, memory);
}

Position LogRuns::behind(const Entry& entry) const {
  Position at = entry.body;
  skip(at, entry.head.body_bytes() + (entry.head.sealed() ? kCrcBytes : 0));
  return at;
}

bool LogRuns::any_erased(Position at, Position end) const {
  std::byte memory[256];
  std::uint64_t left = bytes_between(at, end);
  while (left != 0) {
    const auto now = static_cast<std::uint32_t>(std::min<std::uint64_t>(left, kMaxBody));
    const bool written = take(at, now, memory, [this](Bytes bytes) {
      return std::find(bytes.begin(), bytes.end(), device_.geometry.erased) == bytes.end();
    });
    if (!written) return true;
    left -= now;
  }
  return false;
}

void LogRuns::enter(Walk& walk, std::uint32_t segment) const {
  walk.at = {segment, segments_[segment].begin};
  if (!segments_[segment].follows) walk.first_segment = segment;
  walk.run_end = walk.at;
  walk.run_crc = 0;
  forget(walk);
}

bool LogRuns::visit(Walk& walk, RunVisitor& visitor) const {
  visitor.from = walk.at;
  for (std::uint32_t tries = kReadTries; tries != 0 && walk.at != walk.run_end; --tries) {
    Position end = walk.run.at;
    if (check(end, walk.run.crc, visitor) == Run::good && end == walk.run_end) return true;
  }
  if (walk.at != walk.run_end) {
    // It was good, and now reads differently.
    ++walk.unreadable_runs;
    walk.at = walk.run_end;
    forget(walk);
  }
  visitor.from = {};
  return find(walk, visitor);
}

bool LogRuns::find(Walk& walk, RunVisitor& visitor) const {
  for (;;) {
    Position end = walk.at;
    const Walk::RunBegin begin = {walk.at, walk.run_crc};
    const Run run = check(end, begin.crc, visitor);
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
    // Entries in a block that the run goes on in have a CRC that begins there, too.
    Walk later = walk;
    const bool goes_on = run == Run::bad && end.segment != damaged_in;
    if (goes_on && resynchronise(later, damaged_in + 1, visitor) && later.at < end) {
      walk = later;
      if (walk.at != walk.run_end) return true;
      continue;
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
bool LogRuns::resume(Walk& walk, Position at, RunVisitor& visitor) const {
  Position end = at;
  if (check(end, 0, visitor) != Run::good) return false;
  take_run(walk, {at, 0}, end);
  return true;
}

/// Tries every byte behind `walk` in the same segment.
bool LogRuns::search(Walk& walk, RunVisitor& visitor) const {
  constexpr std::uint64_t kTryBytes = 16;  // what a try costs that ends at once
  Position at = walk.at;
  while (++at.offset < segments_[at.segment].end && search_left_ != 0) {
    Position begin = at;
    Entry entry;
    // Padding is skipped by `to_entry`; elsewhere only what looks like an entry is worth a CRC.
    const bool head = take_head(begin, entry);
    begin = entry.begin;
    Position end = begin;
    const bool good = head && check(end, 0, visitor) == Run::good;
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

bool LogRuns::resynchronise(Walk& walk, std::uint32_t segment, RunVisitor& visitor) const {
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

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::flashlog
