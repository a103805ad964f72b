#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>

#include "opdump/base/bytes.hpp"
#include "opdump/base/status.hpp"
#include "opdump/port/clock.hpp"
#include "opdump/port/waker.hpp"
#include "opdump/ring.hpp"
#include "opdump/types/config.hpp"
#include "platform/ascend/impl/chunk_files.hpp"
#include "platform/ascend/impl/chunk_message.hpp"

namespace opdump::ascend {
inline namespace OPDUMP_NAMESPACE {

/// The way of messages from CANN's callback to ChunkFiles: a ring, and what is done when it is full.
class ChunkRing {
 public:
  ChunkRing(ChunkFiles& files, Clock& clock) : files_(files), clock_(clock) {}
  ChunkRing(const ChunkRing&) = delete;
  ChunkRing& operator=(const ChunkRing&) = delete;

  /// Empties it, while neither side is at work. `when_full` is one that `possible` has let through. An error
  /// of the ring's `reset`: nothing changes.
  Status open(MutableBytes memory, WhenFull when_full, std::uint32_t limit_ms) {
    if (const Status status = ring_.reset(memory); status != Status::ok) return status;
    when_full_ = when_full;
    limit_ms_ = limit_ms;
    stalled_ = false;
    return Status::ok;
  }

  WhenFull when_full() const { return when_full_; }

  // For the callback's turn.

  /// Null: nobody is woken.
  void set_waker(Waker* waker) { waker_ = waker; }

  /// The longest payload that bytes of a file are sent in.
  std::size_t piece_bytes() const { return ring_.size() / 4; }

  /// False: there is no room.
  bool send_at_once(const ChunkMessage& message, Bytes payload) {
    const std::uint32_t bytes = static_cast<std::uint32_t>(sizeof message + payload.size());
    const MutableBytes to = ring_.reserve(bytes, bytes);
    if (to.data() == nullptr) return false;
    ::new (static_cast<void*>(to.data())) ChunkMessage(message);
    if (!payload.empty()) std::memcpy(to.data() + sizeof message, payload.data(), payload.size());
    ring_.commit(bytes);
    return true;
  }

  /// Waits for room as WhenFull says. `too_large`, `ring_full`, `timeout`.
  Status send(const ChunkMessage& message, Bytes payload) {
    const std::uint32_t bytes = static_cast<std::uint32_t>(sizeof message + payload.size());
    if (bytes > ring_.max_chunk()) return Status::too_large;
    stalled_ = stalled_ && ring_.over(ring_.size() / 2);
    if (send_at_once(message, payload)) return Status::ok;
    if (when_full_ == WhenFull::inline_drain) {
      drain_all();
      return send_at_once(message, payload) ? Status::ok : Status::ring_full;
    }
    if (when_full_ != WhenFull::block) return Status::ring_full;
    if (stalled_) return Status::timeout;
    return wait_and_send(message, payload);
  }

  /// Wakes the drain context when the ring becomes half full.
  void wake_if_crowded() {
    const bool crowded = ring_.over(ring_.size() / 2);
    if (crowded && !woken_) wake();
    woken_ = crowded;
  }

  // For the drain context.

  /// Moves about `budget_bytes` to the files, a message more at most; returns the bytes moved.
  std::size_t drain_some(std::size_t budget_bytes) {
    crowded_ = crowded_ || ring_.used() > ring_.size() / 8;
    std::size_t moved = 0;
    while (moved < budget_bytes) {
      const Bytes chunk = ring_.peek();
      if (chunk.data() == nullptr) break;
      const ChunkMessage& message = *std::launder(reinterpret_cast<const ChunkMessage*>(chunk.data()));
      files_.take(message, chunk.subspan(sizeof message));
      moved += chunk.size();
      ring_.pop();
      ring_.release();
    }
    if (moved != 0) files_.flush();
    return moved;
  }

  void drain_all() {
    while (drain_some(SIZE_MAX) != 0) {
    }
  }

  /// Whether the ring was more than an eighth full since this was last asked.
  bool take_crowded() {
    const bool crowded = crowded_;
    crowded_ = false;
    return crowded;
  }

 private:
  /// Without progress for the limit, what finds no room is lost at once until half of the ring is free again.
  Status wait_and_send(const ChunkMessage& message, Bytes payload) {
    std::uint32_t used = ring_.used();
    std::uint32_t since = clock_.monotonic_ms();
    for (;;) {
      wake();
      clock_.pause();
      if (send_at_once(message, payload)) return Status::ok;
      const std::uint32_t now = clock_.monotonic_ms();
      const std::uint32_t left = ring_.used();
      if (left != used) {
        used = left;
        since = now;
      } else if (now - since >= limit_ms_) {
        stalled_ = true;
        return Status::timeout;
      }
    }
  }

  void wake() {
    if (waker_ != nullptr) waker_->wake();
  }

  ChunkFiles& files_;
  Clock& clock_;
  WhenFull when_full_ = WhenFull::drop;
  std::uint32_t limit_ms_ = 0;
  bool stalled_ = false;  ///< the last wait for room ended without any
  bool woken_ = false;
  Waker* waker_ = nullptr;
  Ring ring_;
  bool crowded_ = false;
};

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::ascend
