#pragma once
#include <atomic>
#include <cstdint>

#include "opdump/base/status.hpp"
#include "opdump/port/clock.hpp"
#include "opdump/types/clock_step.hpp"

namespace opdump {
inline namespace OPDUMP_NAMESPACE {

/// A clock over another one, for a device that learns the calendar's time late, from a network or a satellite. Until
/// `set` it shows what the other one shows. Any context may read it, interrupts too, without a lock.
///
///     SettableClock clock(ticks);
///     ...
///     const Result<ClockStep> step = clock.set(now_us);
///     if (step.ok()) status = session.tell_clock(step.value());
class SettableClock final : public Clock {
 public:
  explicit SettableClock(Clock& counter) : counter_(counter) {}

  /// From now on the clock shows `unix_us`, microseconds since 1970-01-01 UTC, and goes on from there. One
  /// context at a time. `invalid_argument` when the clock shows that time or a later one: nothing changes, as
  /// stamps never go back.
  Result<ClockStep> set(std::uint64_t unix_us) {
    const std::uint64_t counted = counter_.unix_us();
    const std::uint32_t turn = turn_.load(std::memory_order_relaxed);
    const ClockStep step = {counted + ahead(turn), unix_us};
    if (const Status status = check(step); status != Status::ok) return status;
    // Not in the place that readers look at.
    Place& next = places_[(turn + 1) % 2];
    const std::uint64_t far = unix_us - counted;
    next.low.store(static_cast<std::uint32_t>(far), std::memory_order_relaxed);
    next.high.store(static_cast<std::uint32_t>(far >> 32), std::memory_order_relaxed);
    turn_.store(turn + 1, std::memory_order_release);  // partner: `unix_us`
    return step;
  }

  std::uint64_t unix_us() override {
    for (;;) {
      const std::uint32_t turn = turn_.load(std::memory_order_acquire);  // partner: `set`
      const std::uint64_t us = counter_.unix_us() + ahead(turn);
      std::atomic_thread_fence(std::memory_order_acquire);
      if (turn_.load(std::memory_order_relaxed) == turn) return us;
    }
  }

  std::int32_t utc_offset_seconds() override { return counter_.utc_offset_seconds(); }
  std::uint32_t monotonic_ms() override { return counter_.monotonic_ms(); }
  void pause() override { counter_.pause(); }

 private:
  struct Place {
    std::atomic<std::uint32_t> low{0};
    std::atomic<std::uint32_t> high{0};
  };

  /// How far the clock is ahead of the counter.
  std::uint64_t ahead(std::uint32_t turn) const {
    const Place& place = places_[turn % 2];
    return std::uint64_t{place.high.load(std::memory_order_relaxed)} << 32 |
           place.low.load(std::memory_order_relaxed);
  }

  Clock& counter_;
  Place places_[2];
  std::atomic<std::uint32_t> turn_{0};
};

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump
