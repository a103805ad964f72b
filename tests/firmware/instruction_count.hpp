#pragma once
// What programs need that count instructions on an emulated board, where QEMU's -icount makes them exact.

#include <cstdint>
#include <cstdio>

#include "opdump/port/clock.hpp"
#include "opdump/port/sink.hpp"

namespace opdump::firmware {

/// The down-counter of every Cortex-M, at the processor's clock.
struct SysTick {
  volatile std::uint32_t control;
  volatile std::uint32_t reload;
  volatile std::uint32_t value;
};
inline SysTick& tick = *reinterpret_cast<SysTick*>(0xe000e010);
constexpr std::uint32_t kMax = 0xffffff;

template <class Work>
[[gnu::noinline]] std::uint32_t ticks(Work work) {
  const std::uint32_t before = tick.value;
  work();
  return (before - tick.value) & kMax;
}

/// 2 * `rounds` instructions.
[[gnu::noinline]] inline void known_loop(std::uint32_t rounds) {
  asm volatile("1: subs %0, %0, #1\n bne 1b" : "+r"(rounds) : : "cc");
}

constexpr std::uint32_t kKnownRounds = 20'000;
inline std::uint32_t known_ticks = 0;

inline double in_instructions(std::uint32_t taken) {
  return static_cast<double>(taken) * 2 * kKnownRounds / known_ticks;
}

template <class Work>
double instructions(Work work) {
  work();
  return in_instructions(ticks(work));
}

struct NullSink final : Sink {
  Result<ObjectId> begin(const ObjectName&) override { return ObjectId{0}; }
  Status append(ObjectId, std::span<const Bytes>) override { return Status::ok; }
  Status commit(ObjectId, ObjectId) override { return Status::ok; }
  void abort(ObjectId) override {}
  Status append_lines(const ObjectName&, std::span<const Bytes>) override { return Status::ok; }
  Status sync() override { return Status::ok; }
};

struct CountingClock final : Clock {
  std::uint64_t unix_us() override { return now += 10; }
  std::int32_t utc_offset_seconds() override { return 0; }
  std::uint32_t monotonic_ms() override { return 0; }
  void pause() override {}
  std::uint64_t now = 1'700'000'000'000'000;
};

/// Comes before all counts.
inline void begin_counting() {
  tick.reload = kMax;
  tick.value = 0;
  tick.control = 5;
  known_loop(kKnownRounds);
  known_ticks = ticks([] { known_loop(kKnownRounds); });
}

/// A line `name,instructions`.
inline void print(const char* name, double value) {
  std::printf("%s,%.1f\n", name, value);
}

}  // namespace opdump::firmware
