#pragma once
#include <time.h>

#include <cstdint>

#include "platform/posix/system_clock.hpp"
#include "platform/posix/time/processor_counter.hpp"

#if defined(__x86_64__) || defined(__aarch64__)
#include "platform/posix/time/counted_time.hpp"
#endif

namespace opdump::posix {
inline namespace OPDUMP_NAMESPACE {

/// The system's clocks. On x86-64 and AArch64, if the kernel keeps its own time by the processor's counter, a
/// record's time is the last reading of CLOCK_REALTIME plus what the counter has counted since, see
/// CountedTime. Elsewhere it is the same as SystemClock.
///
/// Threads and ISR: any number may share one clock.
class CounterClock final : public Clock {
 public:
  /// Reads a file of sysfs: construct it at boot.
  CounterClock() = default;

  /// CLOCK_REALTIME; 0 for a time before 1970.
  std::uint64_t unix_us() override {
#if defined(__x86_64__) || defined(__aarch64__)
    if (trusted_) [[likely]]
      return time_.unix_us();
#endif
    return system_.unix_us();
  }

  /// As SystemClock.
  std::int32_t utc_offset_seconds() override {
    return system_.utc_offset_seconds();
  }
  std::uint32_t monotonic_ms() override {
    return system_.monotonic_ms();
  }
  void pause() override {
    system_.pause();
  }

 private:
  SystemClock system_;
#if defined(__x86_64__) || defined(__aarch64__)
  class Source {
   public:
    std::uint64_t ticks() const { return ProcessorCounter::read(); }
    std::uint64_t calendar_ns() const { return read_ns(CLOCK_REALTIME); }
    std::uint64_t monotonic_ns() const { return read_ns(CLOCK_MONOTONIC); }

   private:
    static std::uint64_t read_ns(clockid_t clock) {
      timespec now{};
      clock_gettime(clock, &now);
      if (now.tv_sec < 0) return 0;
      return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(now.tv_nsec);
    }
  };

  const bool trusted_ = ProcessorCounter::is_trusted();
  CountedTime<Source> time_;
#endif
};

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::posix
