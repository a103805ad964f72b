#pragma once
#include <pthread.h>
#include <sched.h>
#include <time.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <iterator>
#include <numeric>
#include <vector>

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

namespace opdump::bench {

/// A fine clock in ticks of its own.
inline std::uint64_t ticks() {
#if defined(__x86_64__)
  unsigned processor = 0;
  const std::uint64_t now = __rdtscp(&processor);
  _mm_lfence();  // nothing that comes later starts before the reading
  return now;
#else
  return static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
#endif
}

inline double nanoseconds_now() {
  return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

/// Of this thread's own time: what others run meanwhile counts only for the memory they keep busy.
inline double own_nanoseconds_now() {
  timespec time;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) * 1e9 + static_cast<double>(time.tv_nsec);
}

inline double measure_ns_per_tick() {
  const double start_ns = nanoseconds_now();
  const std::uint64_t start = ticks();
  while (nanoseconds_now() - start_ns < 20e6) {
  }
  return (nanoseconds_now() - start_ns) / static_cast<double>(ticks() - start);
}

inline double ns_per_tick() {
  static const double value = measure_ns_per_tick();
  return value;
}

/// The step of `ticks`, which may be many ticks: 10 ns on some machines.
inline std::uint64_t tick_step() {
  static const std::uint64_t value = [] {
    std::uint64_t smallest = UINT64_MAX;
    for (int i = 0; i < 10'000; ++i) {
      const std::uint64_t start = ticks();
      const std::uint64_t took = ticks() - start;
      if (took != 0) smallest = std::min(smallest, took);
    }
    std::uint64_t step = smallest;
    for (int i = 0; i < 10'000; ++i) {
      const std::uint64_t start = ticks();
      step = std::gcd(step, ticks() - start);
    }
    return step;
  }();
  return value;
}

/// Times of single calls, in ticks.
class Samples {
 public:
  explicit Samples(std::size_t count) { ticks_.reserve(count); }
  void add(std::uint64_t ticks) { ticks_.push_back(ticks); }

  /// Nanoseconds that the fraction `part` of the calls did not exceed. Calls of one reading are taken as
  /// spread evenly over the clock's step, so the result is finer than that step.
  double quantile_ns(double part) {
    std::sort(ticks_.begin(), ticks_.end());
    const double rank = part * static_cast<double>(ticks_.size());
    const auto nth = ticks_.begin() + std::min(static_cast<std::ptrdiff_t>(rank), std::ssize(ticks_) - 1);
    const auto [first, last] = std::equal_range(ticks_.begin(), ticks_.end(), *nth);
    const double below = static_cast<double>(first - ticks_.begin());
    const double inside = (rank - below) / static_cast<double>(last - first) - 0.5;
    return (static_cast<double>(*nth) + inside * static_cast<double>(tick_step())) * ns_per_tick();
  }

 private:
  std::vector<std::uint64_t> ticks_;
};

/// What a reading of `ticks` adds to a sample; subtracted from every result.
inline double timer_ns() {
  static const double value = [] {
    Samples samples(100'000);
    for (int i = 0; i < 100'000; ++i) {
      const std::uint64_t start = ticks();
      samples.add(ticks() - start);
    }
    return samples.quantile_ns(0.5);
  }();
  return value;
}

/// Keeps the calling thread, and the threads it makes from now on, on one of the processors it may use; the
/// measuring side takes 0, the other side 1. With one processor alone it does nothing.
inline void pin_to(int index) {
  static const cpu_set_t allowed = [] {
    cpu_set_t set;
    CPU_ZERO(&set);
    pthread_getaffinity_np(pthread_self(), sizeof set, &set);
    return set;
  }();
  if (CPU_COUNT(&allowed) < 2) return;
  for (int processor = 0; processor < CPU_SETSIZE; ++processor) {
    if (!CPU_ISSET(processor, &allowed) || index-- != 0) continue;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(processor, &one);
    pthread_setaffinity_np(pthread_self(), sizeof one, &one);
    return;
  }
}

}  // namespace opdump::bench
