#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "opdump/base/build.hpp"
#include "opdump/base/bytes.hpp"
#include "opdump/base/cpu.hpp"

namespace opdump {
inline namespace OPDUMP_NAMESPACE {

/// What the ring is built from. Tests put checked atomics in its place and watch every access to the memory.
struct RingParts {
  template <class T>
  using Atomic = std::atomic<T>;

  static void will_write(std::uint32_t /*offset*/, std::uint32_t /*bytes*/) {}
  static void will_read(std::uint32_t /*offset*/, std::uint32_t /*bytes*/) {}
};

/// Bounded queue of byte chunks from one producer to one consumer, in memory that the caller owns. Both sides
/// are wait-free and use only loads and stores of 32 bits, so it works between threads, cores and interrupts,
/// also on a Cortex-M0. A chunk is contiguous: a DMA engine may fill it.
///
/// Producer: reserve, fill, commit or abandon. Consumer: peek, use, pop, and release from time to time.
///
/// In memory a chunk is a head of 8 bytes (its length, and under OPDUMP_SURVIVE_RESET a mark while it waits),
/// the payload, and padding up to the granule. A chunk that does not fit before the end starts at offset 0,
/// and a length of `kWrap` marks the place that it skipped. `head_` and `tail_` are offsets; equal means
/// empty, so the last granule before `tail_` is never filled.
template <class Parts = RingParts>
class BasicRing {
 public:
  /// Chunks start at multiples of this, payloads 8 bytes later.
  static constexpr std::uint32_t kGranule = 16;
  static constexpr std::uint32_t kChunkHeadBytes = 8;
  static constexpr std::uint32_t kMinBytes = 4 * kGranule;
  static constexpr std::uint32_t kMaxBytes = 0x80000000u;

  BasicRing() = default;
  BasicRing(const BasicRing&) = delete;
  BasicRing& operator=(const BasicRing&) = delete;

  /// Takes `memory` (8-byte aligned, `kMinBytes` to `kMaxBytes`; what is left over a multiple of the granule is not
  /// used) and empties the ring. `invalid_argument` leaves the ring as it was. Neither side may be at work.
  [[nodiscard]] Status reset(MutableBytes memory) {
    if (reinterpret_cast<std::uintptr_t>(memory.data()) % 8 != 0 || memory.size() < kMinBytes ||
        memory.size() > kMaxBytes) {
      return Status::invalid_argument;
    }
    memory_ = memory.data();
    size_ = static_cast<std::uint32_t>(memory.size()) / kGranule * kGranule;
    head_.store(0, std::memory_order_relaxed);
    tail_.store(0, std::memory_order_relaxed);
    cached_tail_ = 0;
    ahead_end_ = 0;
    cached_head_ = 0;
    read_ = 0;
    return Status::ok;
  }

  /// Like `reset`, but finds what was committed and not popped before a reset of the machine that left
  /// `memory` as it was; the size must be the same. `malformed` when the memory holds what no ring can have
  /// left, as after power was off: the ring is then empty, as it is when nothing was waiting. The call checks
  /// lengths, not payloads. `not_supported` without OPDUMP_SURVIVE_RESET.
  [[nodiscard]] Status recover(MutableBytes memory) {
    if (OPDUMP_SURVIVE_RESET == 0) return Status::not_supported;
    if (const Status status = reset(memory); status != Status::ok) return status;
    // What waits is one row of chunks, or one up to where the producer wrapped and one from offset 0.
    const std::uint32_t low_end = end_of_row(0);
    std::uint32_t start = low_end;
    while (start < size_ && end_of_row(start) == start) start += kGranule;
    const std::uint32_t end = end_of_row(start);
    for (std::uint32_t at = end; at < size_; at += kGranule) {
      if (end_of_row(at) != at) return Status::malformed;
    }
    const bool wraps = start < size_;
    if (low_end == size_) return Status::malformed;
    if (wraps && low_end != 0 && end != size_) write_length(end, kWrap);
    read_ = wraps ? start : 0;
    tail_.store(wraps ? start : 0, std::memory_order_relaxed);
    head_.store(wraps && low_end == 0 ? end % size_ : low_end, std::memory_order_relaxed);
    cached_tail_ = cached_head_ = read_;
    return Status::ok;
  }

  std::uint32_t size() const { return size_; }

  /// The largest payload that is sure to fit once the consumer has released everything.
  std::uint32_t max_chunk() const {
    return size_ / kGranule / 2 * kGranule - (size_ == 0 ? 0 : kChunkHeadBytes);
  }

  // Producer's side.

  /// Room for one chunk of at least `least` and at most `most` bytes of payload, as much as there is in one
  /// piece; empty when there is not even `least`. Nothing is visible to the consumer until `commit`. A second
  /// call without commit replaces the first.
  MutableBytes reserve(std::uint32_t least, std::uint32_t most) {
    return reserve_at(position(), least, most);
  }

  /// Makes the first `bytes` bytes of the reservation visible as one chunk. `bytes` must not exceed what
  /// `reserve` gave.
  void commit(std::uint32_t bytes) { publish(hold(position(), bytes)); }

  /// Whether more than `bytes` bytes of the ring, heads and padding included, are taken.
  bool over(std::uint32_t bytes) { return over_at(position(), bytes); }

  // The same for a chunk that goes straight behind the last one, in a few instructions. Not while a chunk is
  // held.

  /// Room for a chunk; without a payload, none.
  struct Ahead {
    std::byte* payload;
    std::uint32_t end;  ///< of the chunk, below that of the ring
  };

  /// Room for a chunk of exactly `bytes` bytes of payload, at most `max_chunk`, if there is some straight behind the
  /// last chunk, as far as the latest `look_ahead` saw. Nothing is visible to the consumer until `commit_ahead`.
  Ahead reserve_ahead(std::uint32_t bytes) {
    const std::uint32_t at = position();
    const std::uint32_t end = at + chunk_bytes(bytes);
    if (end > ahead_end_) return {};
    std::byte* const payload = memory_ + at + kChunkHeadBytes;
    write_length(at, bytes);
    return {payload, end};
  }

  /// Makes the chunk of `bytes` bytes visible that the latest `reserve_ahead` gave room for; nothing was
  /// reserved since.
  void commit_ahead(const Ahead& chunk, std::uint32_t bytes) {
    mark_payload(static_cast<std::uint32_t>(chunk.payload - memory_) - kChunkHeadBytes, bytes);
    // release: as in `publish`.
    head_.store(chunk.end, std::memory_order_release);
  }

  /// Looks how much room there is straight behind the last chunk, for `reserve_ahead`: as long as no more
  /// than `most` bytes of the ring are taken.
  void look_ahead(std::uint32_t most) {
    const std::uint32_t head = position();
    // acquire: as in `reserve_at`.
    cached_tail_ = tail_.load(std::memory_order_acquire);
    const std::uint32_t end = (head < cached_tail_ ? cached_tail_ : size_) - kGranule;
    const std::uint32_t taken = distance(cached_tail_, head);
    const std::uint32_t left = taken < most ? most - taken : 0;
    ahead_end_ = end - head < left ? end : head + left;
  }

  /// Until the next `look_ahead` there is no room for `reserve_ahead`.
  void end_ahead() { ahead_end_ = 0; }

  // The same for chunks that are filled at the same time: each is held behind the one before it, and they are
  // published in that order, as they fill. A chunk that is held and not published was never there.

  /// Where the next chunk goes that is committed.
  std::uint32_t position() const { return head_.load(std::memory_order_relaxed); }

  /// As `reserve`, for a chunk that goes to `position`, the ring's own or the end of one that is held.
  MutableBytes reserve_at(std::uint32_t position, std::uint32_t least, std::uint32_t most) {
    if (!place(position, least)) {
      // acquire: the consumer is done with the bytes before this tail; pairs with the release in `release`.
      cached_tail_ = tail_.load(std::memory_order_acquire);
      if (!place(position, least)) return {};
    }
    const std::uint32_t room = reserved_room_ - kChunkHeadBytes;
    return {memory_ + reserved_at_ + kChunkHeadBytes, room < most ? room : most};
  }

  struct Held {
    std::uint32_t at = 0;
    std::uint32_t bytes = 0;
  };

  /// Makes a waiting chunk of the first `bytes` bytes of the latest reservation, which was for `position`;
  /// the chunk has yet to be published.
  Held hold(std::uint32_t position, std::uint32_t bytes) {
    if (reserved_at_ != position) write_length(position, kWrap);
    write_length(reserved_at_, bytes);
    return {reserved_at_, bytes};
  }

  std::uint32_t end_of(Held chunk) const {
    const std::uint32_t end = chunk.at + chunk_bytes(chunk.bytes);
    return end == size_ ? 0 : end;
  }

  void publish(Held chunk) {
    mark_payload(chunk.at, chunk.bytes);
    const std::uint32_t end = end_of(chunk);
    // What was seen ahead lies behind a head that goes back.
    if (chunk.at == 0 || end == 0) end_ahead();
    // release: publishes the lengths and the payload; pairs with the acquire in `peek`.
    head_.store(end, std::memory_order_release);
  }

  /// As `over`, when what is held up to `position` counts as taken.
  bool over_at(std::uint32_t position, std::uint32_t bytes) {
    if (distance(cached_tail_, position) <= bytes) return false;
    // acquire: as in `reserve_at`.
    cached_tail_ = tail_.load(std::memory_order_acquire);
    return distance(cached_tail_, position) > bytes;
  }

  // Consumer's side.

  /// Whether all that the latest `peek` that looked for more has seen is popped: the next one looks again.
  bool all_popped() const { return read_ == cached_head_; }

  /// The payload of the oldest chunk not yet popped; null data when there is none. It stays valid until `release`.
  Bytes peek() { return look() ? oldest() : Bytes(); }

  /// Whether there is a chunk not yet popped.
  bool look() {
    // acquire: the chunks before this head are whole; pairs with the release in `publish`.
    if (read_ == cached_head_) cached_head_ = head_.load(std::memory_order_acquire);
    return read_ != cached_head_;
  }

  /// `peek`, after a `look` that found a chunk.
  Bytes oldest() {
    if (read_length(read_) == kWrap) read_ = 0;
    const std::uint32_t bytes = read_length(read_);
    Parts::will_read(read_ + kChunkHeadBytes, bytes);
    return {memory_ + read_ + kChunkHeadBytes, bytes};
  }

  /// Goes on to the next chunk. Only after a `peek` that gave one. The producer does not see the room yet.
  void pop() {
    const std::uint32_t end = read_ + chunk_bytes(read_length(read_));
    set_mark(read_, 0);
    read_ = end == size_ ? 0 : end;
  }

  /// Gives the room of all popped chunks back to the producer.
  void release() {
    // release: our reads of the popped chunks come first; pairs with the acquire in `reserve_at`.
    tail_.store(read_, std::memory_order_release);
  }

  // Either side, or a third.

  /// Whether all that was committed before this call, as far as the caller knows of it, has been released.
  bool drained() const {
    // acquire: no tail is seen from before the producer saw that there was room up to this head, which is
    // where a full ring's tail once was; pairs with the release in `publish`.
    const std::uint32_t head = head_.load(std::memory_order_acquire);
    // acquire: what the consumer did with the chunks comes before; pairs with the release in `release`.
    return tail_.load(std::memory_order_acquire) == head;
  }

  /// Bytes taken, heads and padding included. Exact on neither side while the other is at work: on the
  /// consumer's side it can only be too low, on the producer's only too high.
  std::uint32_t used() const {
    const std::uint32_t head = head_.load(std::memory_order_relaxed);
    const std::uint32_t tail = tail_.load(std::memory_order_relaxed);
    return distance(tail, head);
  }

 private:
  static constexpr std::uint32_t kWrap = 0xffffffffu;

  static constexpr std::uint32_t chunk_bytes(std::uint32_t payload) {
    return (payload + kChunkHeadBytes + kGranule - 1) / kGranule * kGranule;
  }

  std::uint32_t distance(std::uint32_t tail, std::uint32_t head) const {
    return head >= tail ? head - tail : size_ - tail + head;
  }

  bool place(std::uint32_t head, std::uint32_t least) {
    if (least >= size_) return false;
    const std::uint32_t need = chunk_bytes(least);
    const std::uint32_t tail = cached_tail_;
    if (head < tail) {
      reserved_at_ = head;
      reserved_room_ = tail - head - kGranule;
      return need <= reserved_room_;
    }
    // Filling up to the very end moves the head to 0, where it must not meet the tail.
    reserved_at_ = head;
    reserved_room_ = size_ - head - (tail == 0 ? kGranule : 0);
    if (need <= reserved_room_) return true;
    reserved_at_ = 0;
    reserved_room_ = tail == 0 ? 0 : tail - kGranule;
    return need <= reserved_room_;
  }

  void write_length(std::uint32_t offset, std::uint32_t length) {
    Parts::will_write(offset, kChunkHeadBytes);
    std::memcpy(memory_ + offset, &length, sizeof length);
  }

  std::uint32_t read_length(std::uint32_t offset) const {
    Parts::will_read(offset, kChunkHeadBytes);
    std::uint32_t length = 0;
    std::memcpy(&length, memory_ + offset, sizeof length);
    return length;
  }

  /// Never 0, and seldom what other bytes hold by chance.
  std::uint32_t mark_of(std::uint32_t offset, std::uint32_t length) const {
    return ((offset * 0x9e3779b1u) ^ (length * 0x85ebca77u) ^ size_ ^ 0x474e4952u) | 1u;
  }

  void mark_payload(std::uint32_t offset, std::uint32_t bytes) {
    set_mark(offset, mark_of(offset, bytes));
    Parts::will_write(offset + kChunkHeadBytes, bytes);
  }

  void set_mark(std::uint32_t offset, std::uint32_t mark) {
    if (OPDUMP_SURVIVE_RESET == 0) return;
    compiler_fence();  // the payload is there before the mark
    std::memcpy(memory_ + offset + sizeof mark, &mark, sizeof mark);
  }

  /// The end of the marked chunks that follow each other from `offset` on; `offset` if there is no such chunk.
  std::uint32_t end_of_row(std::uint32_t offset) const {
    while (offset < size_) {
      const std::uint32_t length = read_length(offset);
      std::uint32_t mark = 0;
      std::memcpy(&mark, memory_ + offset + sizeof mark, sizeof mark);
      if (mark != mark_of(offset, length) || length > size_ - offset - kChunkHeadBytes) break;
      offset += chunk_bytes(length);
    }
    return offset;
  }

  std::byte* memory_ = nullptr;
  std::uint32_t size_ = 0;

  alignas(OPDUMP_CACHE_LINE_BYTES) typename Parts::template Atomic<std::uint32_t> head_{0};
  std::uint32_t cached_tail_ = 0;
  /// Chunks that end here or before have room behind the head, and end before the ring does.
  [[no_unique_address]] Maybe<!build::kLean, std::uint32_t> ahead_end_{};
  std::uint32_t reserved_at_ = 0;
  std::uint32_t reserved_room_ = 0;

  alignas(OPDUMP_CACHE_LINE_BYTES) typename Parts::template Atomic<std::uint32_t> tail_{0};
  std::uint32_t cached_head_ = 0;
  std::uint32_t read_ = 0;
};

using Ring = BasicRing<>;

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump
