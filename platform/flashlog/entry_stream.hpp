#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>

#include "opdump/base/bytes.hpp"
#include "opdump/base/crc32.hpp"
#include "platform/flashlog/block_rotation.hpp"
#include "platform/flashlog/format.hpp"

namespace opdump::flashlog {
inline namespace OPDUMP_NAMESPACE {

/// The middle floor of FlashLog: entries as a stream of bytes, by way of the page, over the blocks in their
/// rotation. When `stuck_` says why nothing can be written any more, nothing is.
class EntryStream : public BlockRotation {
 protected:
  using BlockRotation::BlockRotation;

  /// Writes `entry` with `bytes` bytes, which begin in `part`, or several when they are too long for one.
  Status write(std::uint32_t entry, const Bytes* part, std::size_t bytes) {
    const std::byte* from = nullptr;
    std::uint32_t rest = 0;
    do {
      std::uint32_t body = bytes < kMaxBody ? static_cast<std::uint32_t>(bytes) : kMaxBody;
      bytes -= body;
      left_ = 2 * (static_cast<std::uint32_t>(sizeof(EntryHead)) + body);
      if (is_sealed(static_cast<Kind>(entry >> 12), body)) left_ += 2 * kCrcBytes + 1;
      put_value(EntryHead(entry, body));
      while (body != 0) {
        if (rest == 0) {
          from = part->data();
          rest = static_cast<std::uint32_t>(part++->size());
        }
        const std::uint32_t now = rest < body ? rest : body;
        put(from, now);
        from += now;
        rest -= now;
        body -= now;
      }
      if (left_ != 0) {
        put_value(Little<std::uint32_t>(crc_));
        crc_ = left_ = 0;
      }
    } while (bytes != 0);
    return stuck_;
  }

  /// Whether the current block has `left` bytes from `part` where `reference` says, which may be in the page
  /// still. Not inline, so that its stack is free again before `refer_to` writes.
  [[gnu::noinline]] bool is_said(const Reference& reference, const Bytes* part, std::size_t left) const {
    std::uint32_t offset = reference.offset;
    if (offset == 0 || reference.bytes != left) return false;
    for (; left != 0; ++part) {
      const std::uint32_t bytes = static_cast<std::uint32_t>(part->size());
      const std::uint32_t programmed = at_ + kept_ > offset ? at_ + kept_ - offset : 0;
      const std::uint32_t there = programmed < bytes ? programmed : bytes;
      if (!reads_as(device_, block_, offset, part->data(), there)) return false;
      if (there != bytes && !is_same(page_ + (offset + there - at_), part->data() + there, bytes - there)) {
        return false;
      }
      offset += bytes;
      left -= bytes;
    }
    return true;
  }

  /// Bytes that fit the page before it has to be programmed.
  std::uint32_t page_room() const { return page_bytes_ - at_ % page_bytes_; }

  /// Bytes that can be put now, at least one unless `stuck_`.
  std::uint32_t make_room() {
    while (stuck_ == Status::ok) {
      if (at_ < geometry().block_bytes) {
        const std::uint32_t room = page_room() - used_;
        if (room != 0) return room;
        if (program_page()) continue;
      }
      next_block();
    }
    return 0;
  }

  void put(const void* bytes, std::uint32_t left) {
    const std::byte* from = static_cast<const std::byte*>(bytes);
    while (left != 0) {
      std::uint32_t now = make_room();
      if (now == 0) return;
      if (now > left) now = left;
      std::memcpy(page_ + used_, from, now);
      crc_ = crc32(crc_, {from, now});
      used_ += now;
      left_ -= 2 * now;
      from += now;
      left -= now;
    }
  }

  template <class T>
  void put_value(const T& value) {
    put(&value, sizeof value);
  }

  Status flush() {
    while (used_ != kept_) {
      if (stuck_ != Status::ok) return stuck_;
      if (!program_page()) next_block();
    }
    return Status::ok;
  }

  /// The next entries that need the directory, or the journal, give it again.
  void forget_names() { references_[0].offset = references_[1].offset = 0; }

  [[gnu::always_inline]] inline void fill(std::byte* from, std::uint32_t bytes) const {
    std::memset(from, static_cast<int>(geometry().erased), bytes);
  }

  /// False when its block failed and takes no more: `next_block` comes next, from the caller, where the stack
  /// of this is free again.
  bool program_page() {
    std::uint32_t gone = program_padded(block_, at_, page_, used_, kept_);
    if (gone == 0) return false;
    // A loss of power may take what was added to a granule, which then reads as padding.
    if (kept_ != 0) forget_names();
    // Where bits can only be cleared, the granule that is not full is programmed again with what comes.
    std::uint32_t kept = 0;
    if (geometry().bits_only_clear) {
      kept = used_ % geometry().program_bytes;
      gone = used_ - kept;
    }
    at_ += gone;
    kept_ = used_ = kept;
    prefix_ = 0;
    fill(page_, kept);
    page_left_ = left_;
    page_crc_ = crc_;
    return true;
  }

  /// For the stream to go on behind what its block took.
  [[gnu::noinline]] void make_start(std::byte* to) const {
    BlockStart& start = *::new (to) BlockStart;
    start.head = EntryHead(entry_of(Kind::start, 0), BlockStart::kBodyBytes);
    start.previous = sequence_;
    start.previous_end = at_ + kept_;
    start.left = page_left_;
    start.run_crc = page_crc_;
    start.boot = boot_;
    start.crc = crc32(0, bytes_of(start).first(sizeof start - kCrcBytes));
  }

  /// Goes on in another block. What the page holds, because its block did not take it, moves along: it stays
  /// where it is until it is programmed, and header and start are put before it.
  void next_block() {
    std::byte* const content = page_ + (prefix_ != 0 ? prefix_ : kept_);
    const std::uint32_t moving = static_cast<std::uint32_t>(page_ + used_ - content);
    if (prefix_ == 0) make_start(content - sizeof(BlockStart));
    forget_names();
    for (;;) {
      if (!take_block(moving == 0)) return;
      std::byte* begin = content - sizeof(BlockStart);
      if (at_ == 0) begin = make_header(begin);
      prefix_ = static_cast<std::uint32_t>(content - begin);
      kept_ = 0;
      used_ = prefix_ + moving;
      const std::uint32_t room = page_room();
      if (used_ > room) {
        if (!change(block_, at_, begin, room, 0)) continue;
        begin = content - prefix_ + room;
        at_ += room;
        used_ -= room;
        prefix_ = 0;
        page_left_ = kUnknownLeft;
      }
      move_bytes(page_, begin, used_);
      return;
    }
  }

  /// FlashLog::prepare.
  Status prepare_block(bool& again) {
    if (stuck_ != Status::ok) return stuck_;
    std::uint32_t block = found_ = cursor_;
    for (std::uint32_t ahead = options_.prepared_blocks; ahead != 0;) {
      const BlockUse use = look_beyond();
      block = found_;
      // Never so far that it meets the block in use.
      if (use == BlockUse::unreadable) break;
      if (use == BlockUse::prepared) {
        --ahead;
        continue;
      }
      if (erased_ != block) {
        again = erase(use);
        break;
      }
      if (used_ != kept_) {
        // A large granule is too much for a header, which can come with the block's first bytes instead.
        if (ahead == 1 && geometry().program_bytes > kMaxHeaderBytes) break;
        again = true;
        return flush();
      }
      // Before the page, which holds nothing but kept bytes.
      ++last_sequence_;
      std::byte* const begin = make_header(page_);
      program_padded(block, 0, begin, static_cast<std::uint32_t>(page_ - begin), 0);
      again = true;
      break;
    }
    // `block` failed and is not remembered: such blocks could be tried for ever.
    if (block == cursor_) again = false;
    return Status::ok;
  }

  /// Programs `used` bytes at `from`, filled up to a granule, of which `kept` are there already.
  /// Returns how many that were, or 0 when the block failed and is retired.
  std::uint32_t program_padded(std::uint32_t block, std::uint32_t offset, std::byte* from, std::uint32_t used,
                               std::uint32_t kept) {
    const std::uint32_t filled = round_up(used, geometry().program_bytes);
    fill(from + used, filled - used);
    return change(block, offset, from, filled, kept) ? filled : 0;
  }
};

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::flashlog
