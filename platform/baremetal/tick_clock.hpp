#pragma once
#include <atomic>
#include <cstdint>

#include "opdump/base/build.hpp"
#include "opdump/base/divide.hpp"
#include "opdump/port/clock.hpp"

namespace opdump::baremetal {
inline namespace OPDUMP_NAMESPACE {

/// A clock that counts the ticks of one timer interrupt. Any context of the same core may read it, without a lock. It
/// counts 2^63 ticks. Records of one tick have the same time, and the drainer gives them different names.
class TickClock : public Clock {
 public:
  /// `start_us` is the time at boot in microseconds since 1970, 0 without a calendar clock.
  constexpr explicit TickClock(std::uint32_t us_per_tick, std::uint64_t start_us = 0)
      : us_per_tick_(us_per_tick), start_us_(start_us) {}

  /// Call it only from the timer's interrupt.
  void tick() {
    if (!build::kEnabled) return;
    const std::uint32_t low = low_.load(std::memory_order_relaxed) + 1;
    low_.store(low, std::memory_order_relaxed);
    if (low == 0) high_.store(high_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  }

  std::uint64_t unix_us() override { return start_us_ + ticks() * us_per_tick_; }
  std::int32_t utc_offset_seconds() override { return 0; }
  std::uint32_t monotonic_ms() override {
    std::uint64_t time = ticks() * us_per_tick_;
    divide(time, 1000);
    return static_cast<std::uint32_t>(time);
  }

  /// Sleeps until the next interrupt, at the latest until the next tick.
  void pause() override {
#if defined(__arm__)
    asm volatile("wfi" : : : "memory");
#endif
  }

 private:
  /// If a tick that carries comes between the two reads, the high half shows it.
  std::uint64_t ticks() const {
    for (;;) {
      const std::uint32_t high = high_.load(std::memory_order_relaxed);
      std::atomic_signal_fence(std::memory_order_seq_cst);
      const std::uint32_t low = low_.load(std::memory_order_relaxed);
      std::atomic_signal_fence(std::memory_order_seq_cst);
      if (high == high_.load(std::memory_order_relaxed)) return std::uint64_t{high} << 32 | low;
    }
  }

  const std::uint32_t us_per_tick_;
  const std::uint64_t start_us_;
  std::atomic<std::uint32_t> low_{0};
  std::atomic<std::uint32_t> high_{0};
};

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::baremetal
