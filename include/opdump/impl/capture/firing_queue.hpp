#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "opdump/base/build.hpp"

namespace opdump {
inline namespace OPDUMP_NAMESPACE {

/// A trigger has fired, as far as the recorder knows.
struct Firing {
  std::uint64_t step = 0;
  std::uint64_t value = 0;  ///< the bits of a double, or a digest
  std::uint32_t load = 0;   ///< of the model; 0: none is known
  std::uint32_t ms = 0;     ///< `Clock::monotonic_ms`
  std::uint32_t point = 0;
};

/// The firings of one recorder on their way to the drain context. One context puts, one takes.
class FiringQueue {
 public:
  /// Before anything is put; `size` is a power of two.
  void reset(Firing* memory, std::uint32_t size) {
    memory_ = memory;
    size_ = size;
    head_.store(0, std::memory_order_relaxed);
    tail_.store(0, std::memory_order_relaxed);
  }

  /// False: there is no room.
  bool put(const Firing& firing) {
    const std::uint32_t head = head_.load(std::memory_order_relaxed);
    // acquire: the entry was read; pairs with the release in `take`.
    if (head - tail_.load(std::memory_order_acquire) >= size_) return false;
    memory_[head & (size_ - 1)] = firing;
    // release: the entry is whole; pairs with the acquire in `look`.
    head_.store(head + 1, std::memory_order_release);
    return true;
  }

  /// The oldest one, which stays; null: there is none.
  const Firing* look() const {
    const std::uint32_t tail = tail_.load(std::memory_order_relaxed);
    return head_.load(std::memory_order_acquire) == tail ? nullptr : &memory_[tail & (size_ - 1)];
  }

  /// Takes the one that `look` has returned.
  void take() { tail_.store(tail_.load(std::memory_order_relaxed) + 1, std::memory_order_release); }

 private:
  Firing* memory_ = nullptr;
  std::uint32_t size_ = 0;
  std::atomic<std::uint32_t> head_{0};
  std::atomic<std::uint32_t> tail_{0};
};

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump
