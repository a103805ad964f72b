#include "platform/flashlog/impl/lost_blocks.hpp"

#include <algorithm>

namespace opdump::flashlog {
inline namespace OPDUMP_NAMESPACE {

/// What lies between two segments of which the second does not name the first.
struct LostBlocks::Gap {
  std::uint32_t first = 0;       ///< number that the log had there, up to `last`
  std::uint32_t last = 0;        ///< likewise
  std::uint32_t numbered = 0;    ///< blocks with one of these numbers
  std::uint32_t unreadable = 0;  ///< without a header, unless they can be read, and hold little
  std::uint32_t torn = 0;        ///< that hold little, which is neither erased nor a beginning
  std::uint32_t blank = 0;       ///< that are erased
  bool overwritten = false;      ///< a block is newer than both
  bool lost = false;             ///< one holds entries, or more than a loss of power leaves
  bool ends_blank = false;       ///< one is erased, and none behind it has a header
  bool has_mount = false;        ///< the log was mounted there, and may have passed over numbers

  std::uint32_t without_header() const { return unreadable + torn + blank; }

  /// Of those without a header, how many were always bad: all for which a log that knew its blocks had no
  /// number, those apart that a mount passed over.
  std::uint32_t bad() const {
    const std::uint32_t all = last - first + 1 - numbered;
    const std::uint32_t lacking = has_mount ? all % kUnreadableNumbers : all;
    return without_header() > lacking ? without_header() - lacking : 0;
  }
};

/// Finds behind which segments a block is lost. Bad blocks hold nothing, and each mount passes over numbers
/// for them; but one that only a later mount could not read may have held something.
void LostBlocks::mark() {
  is_later_round_ = went_round();
  const std::uint32_t found = find_bad();
  std::optional<std::uint32_t> known;
  for (std::uint32_t i = 0; i < segments_.size(); ++i) {
    const std::uint32_t unread = unread_at_mount(i);
    std::uint32_t bad = is_known(unread, known, passed_before(i)) ? unread : 0;
    // What was before the first segment that is left may have been any number of mounts.
    const bool tells = segments_[i].starts && (i != 0 || is_first(0));
    if (tells && (!known || bad != unread || (unread != 0 && unread < *known))) known = unread;
    if (!is_first(i)) bad = bad > found ? bad - found : 0;
    segments_[i].behind_hole = is_behind_hole(i, bad);
  }
}

/// Whether no more blocks were unreadable to a mount, which passed over so many numbers, than `known` to those
/// before. Several mounts may have passed over them, but each has left a header with a number of its own.
bool LostBlocks::is_known(std::uint32_t unread, std::optional<std::uint32_t> known, std::uint32_t passed) {
  if (!known || unread <= *known) return true;
  return *known != 0 && unread % *known == 0 && passed % kUnreadableNumbers >= unread / *known - 1;
}

/// Numbers before a segment that none has.
std::uint32_t LostBlocks::passed_before(std::uint32_t segment) const {
  return segments_[segment].previous - (segment != 0 ? segments_[segment - 1].sequence : 0);
}

/// How many blocks the mount before a segment could not read, the first one counted twice.
std::uint32_t LostBlocks::unread_at_mount(std::uint32_t segment) const {
  const std::uint32_t passed = passed_before(segment);
  const std::uint32_t unread = passed / kUnreadableNumbers;
  const bool fits = segments_[segment].starts && passed % kUnreadableNumbers <= kMostAhead * unread;
  return fits ? unread : 0;
}

/// Whether a segment is the first one that a log ever had.
bool LostBlocks::is_first(std::uint32_t segment) const {
  return segment == 0 && segments_[0].starts && !is_later_round_ &&
         passed_before(0) % kUnreadableNumbers == 0;
}

/// How many blocks are known to be bad, the first one counted twice: the log went past them while it knew
/// what it had written.
std::uint32_t LostBlocks::find_bad() const {
  std::uint32_t bad = 0;
  std::uint32_t left = device().geometry.block_count;
  for (std::size_t i = segments_.size(); i-- != 0 && left != 0;) {
    const std::uint32_t from = i != 0 ? segments_[i - 1].block : device().geometry.block_count - 1;
    const bool is_next = i != 0 && !segments_[i].starts && segments_[i].previous == segments_[i - 1].sequence;
    const bool past = is_next || is_first(static_cast<std::uint32_t>(i));
    for (std::uint32_t block = from; (block = block_after(block)) != segments_[i].block && --left != 0;) {
      Header header;
      const BlockUse use = past ? look_at(device(), block, header) : BlockUse::prepared;
      const bool has_header = use == BlockUse::prepared || use == BlockUse::taken;
      if (!has_header && !retired_.may_have(block)) bad += block == 0 ? 2 : 1;
    }
  }
  return bad;
}

/// Whether blocks have been written a second time.
bool LostBlocks::went_round() const {
  if (segments_.empty()) return false;
  std::uint32_t passed = 0;
  for (std::uint32_t i = 0; i < segments_.size(); ++i) {
    if (i != 0 && segments_[i].block < segments_[i - 1].block) return true;
    passed += unread_at_mount(i) * kUnreadableNumbers;
  }
  // In the first round each block has the number of its place at most.
  const bool may_be_first = (segments_[0].sequence - 1) % kUnreadableNumbers <= segments_[0].block;
  return segments_.back().sequence - passed > device().geometry.block_count &&
         !(may_be_first && !may_be_erased_ahead());
}

/// A segment that does not name the one before may still be the next one: a mount numbers on from blocks that
/// were prepared or begun and hold nothing, and what a cache held when power went is not there either.
bool LostBlocks::is_behind_hole(std::uint32_t segment, std::uint32_t bad) const {
  const Segment& next = segments_[segment];
  const Segment* const last = segment != 0 ? &segments_[segment - 1] : nullptr;
  if (next.previous == (last != nullptr ? last->sequence : 0)) return false;
  if (last == nullptr ? is_later_round_ || may_be_erased_ahead() : is_later_round_ && last->retired)
    return false;
  const std::uint32_t from = last != nullptr ? last->block : device().geometry.block_count - 1;
  Gap gap = {.first = (last != nullptr ? last->sequence : 0) + 1,
             .last = next.previous,
             .has_mount = last == nullptr || last->boot != next.boot};
  look_between(from, next, gap);
  if (gap.overwritten) return false;
  if (!next.starts) bad = gap.bad();
  if (gap.lost || gap.unreadable > bad) return true;
  // An erase that fails leaves the oldest block where it is while the next one is erased.
  if (is_later_round_ && segment == 1) return false;
  if (next.starts) return gap.ends_blank && gap.without_header() > bad;
  return gap.unreadable + gap.torn > bad || !may_be_unsynced(segment);
}

/// Whether the log has come so near to the end of its first round that it may have erased its beginning.
bool LostBlocks::may_be_erased_ahead() const {
  std::uint32_t ahead = 0;
  for (std::uint32_t block = segments_.back().block; (block = block_after(block)) != segments_[0].block;)
    ahead += retired_.may_have(block) ? 0 : 1;
  return ahead <= kMostAhead;
}

/// Whether the boot of `segment` ends so soon that it may not have synced what was before.
bool LostBlocks::may_be_unsynced(std::uint32_t segment) const {
  const std::uint32_t behind = segment + kMostAhead - 1;
  return behind >= segments_.size() || segments_[behind].boot != segments_[segment].boot;
}

void LostBlocks::look_between(std::uint32_t block, const Segment& next, Gap& gap) const {
  while ((block = block_after(block)) != next.block) {
    if (retired_.may_have(block)) continue;
    Header header;
    const BlockUse use = look_at(device(), block, header);
    if (use == BlockUse::prepared || use == BlockUse::taken) {
      const std::uint32_t number = header.head.sequence;
      if (number > next.sequence) gap.overwritten = true;
      if (number - gap.first <= gap.last - gap.first) ++gap.numbered;
    }
    look_into(block, use, header, gap);
  }
}

/// Adds what `block` is, of which `look_at` has said `use`.
void LostBlocks::look_into(std::uint32_t block, BlockUse use, const Header& header, Gap& gap) const {
  gap.ends_blank = false;
  Segment begun;
  if (use == BlockUse::prepared || (use == BlockUse::taken && runs_.read_segment(block, header.head, begun)))
    return;
  if (use == BlockUse::none && reads_as(device(), block, 0, nullptr, sizeof header.head)) {
    gap.ends_blank = true;
    ++gap.blank;
    return;
  }
  // Power that failed in the first page, which is half a block at most, left the rest erased.
  const bool little = is_blank(device(), block, device().geometry.block_bytes / 2);
  if (use == BlockUse::taken && !little) gap.lost = true;
  if (use != BlockUse::taken) ++(little ? gap.torn : gap.unreadable);
  if (use != BlockUse::unreadable && runs_.holds_run(block)) gap.lost = true;
}

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::flashlog
