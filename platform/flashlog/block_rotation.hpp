#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <type_traits>

#include "opdump/base/bytes.hpp"
#include "opdump/base/crc32.hpp"
#include "platform/flashlog/block.hpp"
#include "platform/flashlog/device.hpp"
#include "platform/flashlog/format.hpp"
#include "platform/flashlog/log_state.hpp"

namespace opdump::flashlog {
inline namespace OPDUMP_NAMESPACE {

/// The lowest floor of FlashLog: which block comes next, what is in it, and all that changes the flash.
class BlockRotation : public Sink, protected LogSetup, protected LogState {
 public:
  /// Room before the page, for what a block begins with.
  static constexpr std::uint32_t kPrefixBytes = sizeof(Header) + sizeof(BlockStart);

  /// A page is programmed at once; larger pages mean fewer programs.
  static constexpr std::uint32_t kMinPageBytes = 128;

 protected:
  static constexpr std::uint32_t kNoBlock = 0xffffffffu;

  /// Constant without OPDUMP_ENABLED, where the log is nothing.
  constexpr BlockRotation(const Device& device, MutableBytes memory, const Options& options,
                          std::uint8_t format = kLogFormat)
      : LogSetup{build::kEnabled ? device : kNoDevice,
                 memory.data() + kPrefixBytes,
                 static_cast<std::uint32_t>(memory.size() - kPrefixBytes),
                 options,
                 Status::not_initialised,
                 format},
        LogState() {
    // In flash the bytes of a constant would take more than this.
    if (build::kEnabled && std::is_constant_evaluated()) at_run_time();
  }

  static void at_run_time() {}

  const Geometry& geometry() const { return device_.geometry; }

  bool usable() const {
    // `is_usable`, but for what follows from the page's size.
    const Geometry& part = geometry();
    return part.program_bytes - 1 < 4096 && part.block_count - 3 <= 0xffff - 3 &&
           (part.erased == std::byte{0xff} || part.erased == std::byte{0}) && page_bytes_ >= kMinPageBytes &&
           page_bytes_ % part.program_bytes == 0 && part.block_bytes > page_bytes_ &&
           part.block_bytes % page_bytes_ == 0;
  }

  /// The header that was looked at last, in the memory before the page; what `next_block` and `prepare_block`
  /// put there comes later or lies behind it.
  Header& header() const { return *reinterpret_cast<Header*>(page_ - kPrefixBytes); }

  /// What `block` is used for; `none` too when it was prepared before the current one was, or before the
  /// mount: what seems erased there may have been left so by a loss of power, and not be. By its number, a
  /// header is of neither kind if the mount did not see it and it shows only now.
  BlockUse look_ahead(std::uint32_t block) const {
    if (block == block_) return BlockUse::unreadable;
    for (std::uint32_t i = 0; i < retired_count_; ++i) {
      if (retired_[i] == block) return BlockUse::unreadable;
    }
    const BlockUse use = look_at(device_, block, header());
    const std::uint32_t ahead = header().head.sequence - sequence_ - 1;
    return use == BlockUse::prepared && ahead >= last_sequence_ - sequence_ ? BlockUse::none : use;
  }

  std::uint32_t block_after(std::uint32_t block) const {
    return block + 1 == geometry().block_count ? 0 : block + 1;
  }

  /// Goes on from `found_` to the next block that can be used, and says for what. `unreadable` when the
  /// rotation itself comes first.
  BlockUse look_beyond() const {
    for (;;) {
      found_ = block_after(found_);
      if (found_ == cursor_) return BlockUse::unreadable;
      const BlockUse use = look_ahead(found_);
      if (use != BlockUse::unreadable) return use;
    }
  }

  /// Makes the next block of the rotation the current one, erased, or with its header if `prepared` will do.
  /// False when there is none, and `stuck_` says why.
  bool take_block(bool prepared) {
    while (failures_++ < geometry().block_count) {
      found_ = cursor_;
      const BlockUse use = look_beyond();
      if (use == BlockUse::unreadable) break;
      const std::uint32_t block = cursor_ = found_;
      at_ = 0;
      const std::uint32_t bytes = header().head.bytes;
      if (prepared && use == BlockUse::prepared && is_blank(device_, block, bytes)) {
        at_ = round_up(bytes, geometry().program_bytes);
        sequence_ = header().head.sequence;
      } else {
        if (erased_ != block && !erase(use)) {
          stuck_ = Status::no_space;
          return false;
        }
        if (erased_ != block) continue;
        sequence_ = ++last_sequence_;
        if (!prepared) move_objects(block_ + 1, block + 1);
      }
      block_ = block;
      --free_;
      return true;
    }
    stuck_ = Status::io_error;
    return false;
  }

  /// False when the block is to be kept. True otherwise: it is `erased_`, or failed and is retired.
  bool erase(BlockUse use) {
    if (use == BlockUse::taken && options_.policy == Policy::stop_when_full) return false;
    if (erases_ == options_.erase_budget) return false;
    ++erases_;
    const std::uint32_t block = found_;
    move_objects(block + 1, kLost);
    erased_ = kNoBlock;
    if (change(block, 0, nullptr, geometry().block_bytes, 0)) erased_ = block;
    return true;
  }

  /// The highest number of the blocks that may be erased while `found_` is the latest one on the flash: the
  /// page may hold the beginning of the next one already. Moves `found_`.
  std::uint32_t given_up() const {
    std::uint32_t highest = 0;
    std::uint32_t ahead = options_.policy == Policy::stop_when_full ? 0 : options_.prepared_blocks + 1u;
    for (; ahead != 0; --ahead) {
      const BlockUse use = look_beyond();
      if (use == BlockUse::unreadable) break;
      const std::uint32_t sequence = header().head.sequence;
      if (use == BlockUse::taken && sequence > highest) highest = sequence;
    }
    return highest;
  }

  /// Makes the header of the block that is `found_` and `erased_`, which is taken then, and its end `end`.
  /// Returns its beginning.
  std::byte* make_header(std::byte* end) {
    const std::uint32_t number = given_up();
    const std::uint32_t block = erased_;
    erased_ = kNoBlock;
    const Geometry& part = geometry();
    const std::uint32_t retired = retired_count_;
    const std::uint32_t bytes =
        static_cast<std::uint32_t>(sizeof(BlockHeader)) + 2 * retired + kHeaderEndBytes;
    std::byte* const to = end - bytes;
    BlockHeader& head = *::new (to) BlockHeader;
    head.magic = kMagic;
    head.format = format_;
    head.erased = part.erased;
    head.bytes = static_cast<std::uint16_t>(bytes);
    head.sequence = last_sequence_;
    head.block_bytes = part.block_bytes;
    head.block_count = static_cast<std::uint16_t>(part.block_count);
    head.block = static_cast<std::uint16_t>(block);
    head.program_bytes = static_cast<std::uint16_t>(part.program_bytes);
    head.retired_count = static_cast<std::uint16_t>(retired);
    std::memcpy(to + sizeof(BlockHeader), retired_, 2 * retired);
    store_little_endian(end - kHeaderEndBytes, number);
    store_little_endian(end - kCrcBytes, crc32(0, {to, bytes - kCrcBytes}));
    return to;
  }

  /// `from` is never written again, so what began there ends with what follows it in `to`; kLost: with nothing.
  [[gnu::noinline]] void move_objects(std::uint32_t from, std::uint32_t to) {
    for (Object& object : objects_) {
      if (object.begun == from) object.begun = static_cast<std::uint16_t>(to);
    }
  }

  void protect(bool on) const {
    if (device_.protect != nullptr) device_.protect(device_.context, on);
  }

  /// Programs `bytes` bytes, of which the first `kept` are there already and look erased in `from`, or erases
  /// the block if `from` is null. False when it failed and is retired.
  bool change(std::uint32_t block, std::uint32_t offset, const std::byte* from, std::uint32_t bytes,
              std::uint32_t kept) {
    protect(false);
    Status status;
    if (from != nullptr) {
      status = device_.program(device_.context, block, offset, {from, bytes});
    } else {
      // What gives the block up must be there before it is gone, and the block not be seen with a new header
      // and old bytes.
      status = device_.sync(device_.context);
      if (status == Status::ok) status = device_.erase(device_.context, block);
      if (status == Status::ok) status = device_.sync(device_.context);
    }
    protect(true);
    if (status == Status::ok &&
        (!options_.verify || reads_as(device_, block, offset + kept, from + kept, bytes - kept))) {
      if (from != nullptr) failures_ = 0;
      return true;
    }
    if (block != block_) --free_;
    // A block that is not remembered would be tried again.
    if (retired_count_ == kMaxRetired) {
      cursor_ = block;
    } else {
      retired_[retired_count_++] = static_cast<std::uint16_t>(block);
    }
    return false;
  }
};

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::flashlog
