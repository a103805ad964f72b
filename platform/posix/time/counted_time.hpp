#pragma once
#include <algorithm>
#include <atomic>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "opdump/knobs.hpp"

namespace opdump::posix {
inline namespace OPDUMP_NAMESPACE {

/// Where a CountedTime has its time from; all three may be read by any number of threads.
template <class T>
concept TimeSource = requires(T source) {
  { source.ticks() } -> std::same_as<std::uint64_t>;  ///< a counter of constant frequency, cheap to read
  { source.calendar_ns() } -> std::same_as<std::uint64_t>;   ///< since 1970-01-01 UTC
  { source.monotonic_ns() } -> std::same_as<std::uint64_t>;  ///< as fast as the calendar, but never set
};

/// Calendar time that is counted on from its last reading, as a counter is cheaper to read than a calendar.
/// It reads the calendar at least every 20 ms, and each time until the counter's frequency has been measured
/// twice over 1 ms or where it is below 8 MHz; the result is off by at most 5 us, plus what the calendar's
/// rate changes within 20 ms. Setting the calendar, or putting the machine to sleep, shows up to 20 ms late.
///
/// Threads and ISR: any number at once; none waits for another. One that is interrupted or that a fork leaves
/// behind while it looks at the calendar makes the others read the calendar each time.
template <TimeSource Source, template <class> class Atomic = std::atomic>
class CountedTime {
 public:
  explicit CountedTime(Source source = Source()) : source_(source) {}

  /// Microseconds since 1970-01-01 UTC.
  std::uint64_t unix_us() {
    const std::uint64_t now = source_.ticks();
    const std::uint32_t turn = turn_.load(std::memory_order_acquire);  // partner: end of `look`
    // Acquire, so that the second look at `turn_` comes last; partner: the stores of `publish`.
    const std::uint64_t ticks = ticks_.load(std::memory_order_acquire);
    const std::uint64_t us = us_.load(std::memory_order_acquire);
    // That of another look does as well: it says itself how far it may be trusted.
    const std::uint64_t pace = pace_.load(std::memory_order_relaxed);
    const std::uint64_t passed = now - ticks;
    // Also when another thread looked after the counter had been read.
    if (passed >= pace >> 32 || turn % 2 != 0 || turn_.load(std::memory_order_relaxed) != turn) [[unlikely]]
      return look();
    return us + ((passed * (pace & UINT32_MAX)) >> 32);
  }

 private:
  static constexpr std::uint64_t kMostNs = 20'000'000;        ///< between two looks at the calendar
  static constexpr std::uint64_t kLeastNs = 1'000'000;        ///< over which a frequency is measured
  static constexpr std::uint64_t kMostMeasuredNs = 2u << 30;  ///< its product with 2^32 fits
  static constexpr std::uint64_t kTogetherNs = 1000;          ///< in which readings count as one
  static constexpr std::uint64_t kLeastTicksPerUs = 8;
  static constexpr std::uint64_t kAgree = 256;  ///< measures over 1 ms differ by 1/500
  static constexpr std::uint64_t kAhead = 4;    ///< how many times its base a measure is good for

  struct Reading {
    std::uint64_t ticks = 0;
    std::uint64_t calendar_ns = 0;
    std::uint64_t monotonic_ns = 0;
  };

  [[gnu::noinline, gnu::cold]] std::uint64_t look() {
    std::uint32_t turn = turn_.load(std::memory_order_relaxed);
    // Partner: the store at the end, for `last_`.
    if (turn % 2 != 0 ||
        !turn_.compare_exchange_strong(turn, turn + 1, std::memory_order_acquire, std::memory_order_relaxed))
      return source_.calendar_ns() / 1000;
    Reading now{.monotonic_ns = source_.monotonic_ns()};
    now.ticks = source_.ticks();
    now.calendar_ns = source_.calendar_ns();
    if (source_.monotonic_ns() - now.monotonic_ns <= kTogetherNs) measure(now);
    turn_.store(turn + 2, std::memory_order_release);
    return now.calendar_ns / 1000;
  }

  void measure(const Reading& now) {
    const std::uint64_t ns = now.monotonic_ns - last_.monotonic_ns;
    const std::uint64_t ticks = now.ticks - last_.ticks;
    if (ns < kLeastNs) return;
    const bool first = last_.monotonic_ns == 0;
    last_ = now;
    if (first || ns > kMostMeasuredNs || ticks == 0) return;
    const std::uint64_t us_per_tick = (ns << 32) / ticks / 1000;  // in 2^-32
    const std::uint64_t good_for = ticks * std::min(kAhead * ns, kMostNs) / ns;
    if (us_per_tick == 0 || us_per_tick > UINT32_MAX / kLeastTicksPerUs || good_for > UINT32_MAX) return;
    // Across a sleep of the machine one clock or the other stands still; two measures in a row say the same
    // only when neither does.
    const std::uint64_t before = std::exchange(measured_, us_per_tick);
    if (std::max(before, us_per_tick) - std::min(before, us_per_tick) <= before / kAgree)
      publish(now, us_per_tick, good_for);
  }

  void publish(const Reading& now, std::uint64_t us_per_tick, std::uint64_t good_for) {
    // Back to the tick at which the microsecond began.
    const std::uint64_t begun = (now.calendar_ns % 1000 << 32) / (us_per_tick * 1000);
    // Release, so that `turn_` is odd before any of them; partner: the loads of `unix_us`.
    ticks_.store(now.ticks - begun, std::memory_order_release);
    us_.store(now.calendar_ns / 1000, std::memory_order_release);
    pace_.store(good_for << 32 | us_per_tick, std::memory_order_relaxed);
  }

  static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

  Source source_;
  Atomic<std::uint32_t> turn_{0};   ///< odd while someone looks at the calendar
  Atomic<std::uint64_t> ticks_{0};  ///< when `us_` began
  Atomic<std::uint64_t> us_{0};
  Atomic<std::uint64_t> pace_{0};  ///< microseconds per tick in 2^-32, above it the ticks this is good for
  // What follows belongs to who made `turn_` odd.
  Reading last_;
  std::uint64_t measured_ = 0;  ///< microseconds per tick in 2^-32, the last time
};

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::posix
