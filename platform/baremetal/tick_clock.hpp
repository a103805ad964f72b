#pragma once
#include <atomic>
#include <cstdint>

#include "opdump/clock.hpp"

namespace opdump::baremetal {
inline namespace OPDUMP_NAMESPACE {

/// A clock that counts the ticks of one timer interrupt. Readable from any context of the same core, also
/// from interrupts above the timer's, without a lock or a loop; the time goes on for 2^63 ticks. Records of
/// one tick have one time, and the drainer gives them different names. Tests put something else in the place
/// of `Word`.
template <class Word>
class BasicTickClock : public Clock {
 public:
  /// `start_us` is the time at boot in microseconds since 1970, 0 without a calendar clock.
  explicit BasicTickClock(std::uint32_t us_per_tick, std::uint64_t start_us = 0)
      : us_per_tick_(us_per_tick), start_us_(start_us) {}

  /// From the timer's interrupt alone.
  void tick() {
    const std::uint32_t low = low_.load(std::memory_order_relaxed) + 1;
    if (low != 0) return low_.store(low, std::memory_order_relaxed);
    const std::uint32_t high = high_.load(std::memory_order_relaxed) + 1;
    next_high_.store(high, std::memory_order_relaxed);
    std::atomic_signal_fence(std::memory_order_seq_cst);
    low_.store(0, std::memory_order_relaxed);
    std::atomic_signal_fence(std::memory_order_seq_cst);
    high_.store(high, std::memory_order_relaxed);
  }

  std::uint64_t unix_us() override { return start_us_ + ticks() * us_per_tick_; }
  std::int32_t utc_offset_seconds() override { return 0; }
  std::uint32_t monotonic_ms() override { return static_cast<std::uint32_t>(ticks() * us_per_tick_ / 1000); }

  /// Sleeps until the next interrupt, at latest the next tick.
  void pause() override {
#if defined(__arm__)
    asm volatile("wfi" : : : "memory");
#endif
  }

 private:
  /// The two high halves differ when the tick that carries comes in between, or is itself interrupted by
  /// this: then the low half tells whether it was read before or after the carry.
  std::uint64_t ticks() const {
    const std::uint32_t before = high_.load(std::memory_order_relaxed);
    std::atomic_signal_fence(std::memory_order_seq_cst);
    const std::uint32_t low = low_.load(std::memory_order_relaxed);
    std::atomic_signal_fence(std::memory_order_seq_cst);
    const std::uint32_t after = next_high_.load(std::memory_order_relaxed);
    return std::uint64_t{low < 0x80000000u ? after : before} << 32 | low;
  }

  const std::uint32_t us_per_tick_;
  const std::uint64_t start_us_;
  Word low_{0};
  Word next_high_{0};  ///< `high_`, but for a moment within the tick that carries
  Word high_{0};
};

using TickClock = BasicTickClock<std::atomic<std::uint32_t>>;

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::baremetal
