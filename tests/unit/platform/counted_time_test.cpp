#include "platform/posix/time/counted_time.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <functional>
#include <random>
#include <thread>
#include <utility>
#include <vector>

using opdump::posix::CountedTime;

namespace {

constexpr std::uint64_t kStartNs = 1'700'000'000'123'456'789;
constexpr std::uint64_t kMs = 1'000'000;

/// A machine of one processor whose time passes only as it is told to, and while a clock is being read.
struct Machine {
  std::uint64_t ns = 0;
  std::uint64_t calendar_offset = kStartNs;
  std::uint64_t ticks_per_us = 2600;
  std::uint64_t reading_ns = 0;
  std::uint64_t calendar_readings = 0;
  bool counter_stands = false;
  std::uint64_t counter_lost = 0;
  std::uint64_t asleep_ns = 0;  ///< which the calendar counts and the monotonic clock does not
  bool counter_sleeps = true;
  std::function<void()> interrupt = nullptr;  ///< comes while the calendar is being read

  std::uint64_t calendar_us() const { return (calendar_offset + asleep_ns + ns) / 1000; }
};

struct Source {
  Machine* machine;

  std::uint64_t ticks() {
    machine->ns += machine->reading_ns;
    const std::uint64_t counted_ns = machine->ns + (machine->counter_sleeps ? 0 : machine->asleep_ns);
    // Never 0 and far from the calendar's numbers.
    return machine->counter_stands ? 77
                                   : 77 + counted_ns * machine->ticks_per_us / 1000 - machine->counter_lost;
  }
  std::uint64_t calendar_ns() {
    machine->ns += machine->reading_ns;
    ++machine->calendar_readings;
    if (machine->interrupt) std::exchange(machine->interrupt, nullptr)();
    return machine->calendar_offset + machine->asleep_ns + machine->ns;
  }
  std::uint64_t monotonic_ns() {
    machine->ns += machine->reading_ns;
    return 5'000'000'000 + machine->ns;
  }
};

using Time = CountedTime<Source>;

/// Has it measured the counter.
void warm_up(Machine& machine, Time& time) {
  for (int i = 0; i < 2; ++i) {
    time.unix_us();
    machine.ns += 2 * kMs;
  }
  time.unix_us();
  machine.calendar_readings = 0;
}

std::uint64_t distance(std::uint64_t a, std::uint64_t b) {
  return a > b ? a - b : b - a;
}

}  // namespace

TEST_CASE("counted time: the calendar until the counter is measured, then the counter") {
  for (const std::uint64_t ticks_per_us : {19u, 62u, 1000u, 2600u, 5000u}) {
    CAPTURE(ticks_per_us);
    Machine machine{.ticks_per_us = ticks_per_us};
    Time time(Source{&machine});
    for (int i = 0; i < 10; ++i) {
      CHECK(time.unix_us() == machine.calendar_us());
      machine.ns += kMs / 10 - 1;
    }
    CHECK(machine.calendar_readings == 10);
    for (int i = 0; i < 2; ++i) {
      machine.ns += kMs;
      CHECK(time.unix_us() == machine.calendar_us());
    }
    machine.calendar_readings = 0;
    for (int i = 0; i < 30; ++i) {
      machine.ns += kMs / 10;
      CHECK(distance(time.unix_us(), machine.calendar_us()) <= 1);
    }
    CHECK(machine.calendar_readings == 0);
  }
}

TEST_CASE("counted time: looks at the calendar every 20 ms") {
  Machine machine;
  Time time(Source{&machine});
  warm_up(machine, time);
  std::uint64_t last_look_ns = machine.ns;
  std::uint64_t longest_ns = 0;
  for (int i = 0; i < 100'000; ++i) {
    machine.ns += 10'000;
    const std::uint64_t readings = machine.calendar_readings;
    CHECK(distance(time.unix_us(), machine.calendar_us()) <= 1);
    if (machine.calendar_readings == readings) continue;
    longest_ns = std::max(longest_ns, machine.ns - last_look_ns);
    last_look_ns = machine.ns;
  }
  CHECK(machine.calendar_readings <= 1000 / 20 + 5);
  CHECK(longest_ns <= 20 * kMs + 20'000);
}

TEST_CASE("counted time: within 5 us whatever the readings take") {
  std::mt19937 random(7);
  for (int life = 0; life < 200; ++life) {
    Machine machine{.ticks_per_us = 20 + random() % 5000};
    Time time(Source{&machine});
    for (int i = 0; i < 2000; ++i) {
      machine.ns += random() % 3 == 0 ? random() % (3 * kMs) : random() % 2000;
      // The last takes so long that the readings do not count as one.
      const std::uint64_t kinds[] = {0, 20, 100, 330, 100'000};
      machine.reading_ns = kinds[random() % 5];
      const std::uint64_t before = machine.calendar_us();
      const std::uint64_t us = time.unix_us();
      CHECK(us + 5 >= before);
      CHECK(us <= machine.calendar_us() + 5);
    }
  }
}

TEST_CASE("counted time: a calendar that is set shows within 20 ms") {
  for (const std::int64_t by : {std::int64_t{3'600'000'000'000}, std::int64_t{-3'600'000'000'000}}) {
    CAPTURE(by);
    Machine machine;
    Time time(Source{&machine});
    warm_up(machine, time);
    machine.calendar_offset += static_cast<std::uint64_t>(by);
    machine.ns += 20 * kMs;
    CHECK(distance(time.unix_us(), machine.calendar_us()) <= 1);
    machine.ns += kMs;
    CHECK(distance(time.unix_us(), machine.calendar_us()) <= 1);
  }
}

TEST_CASE("counted time: right after rests of any length") {
  Machine machine;
  Time time(Source{&machine});
  warm_up(machine, time);
  for (const std::uint64_t ms : {21ull, 100ull, 1651ull, 1652ull, 2147ull, 2148ull, 4300ull, 3'600'000ull,
                                 20ull, 5ull, 86'400'000ull}) {
    CAPTURE(ms);
    machine.ns += ms * kMs;
    for (int i = 0; i < 3; ++i) {
      CHECK(distance(time.unix_us(), machine.calendar_us()) <= 1);
      machine.ns += kMs * 3 / 4;
    }
  }
}

TEST_CASE("counted time: a machine that sleeps") {
  const std::uint64_t sleeps_ms[] = {1, 5, 30, 500, 2000, 10'000, 400'000, 90'000'000};
  for (const std::uint64_t ticks_per_us : {24u, 62u, 1000u, 2600u}) {
    for (const std::uint64_t sleep_ms : sleeps_ms) {
      for (const bool counter_sleeps : {false, true}) {
        for (const std::uint64_t awake_us : {10u, 900u, 3000u}) {
          CAPTURE(ticks_per_us);
          CAPTURE(sleep_ms);
          CAPTURE(counter_sleeps);
          CAPTURE(awake_us);
          Machine machine{.ticks_per_us = ticks_per_us, .counter_sleeps = counter_sleeps};
          Time time(Source{&machine});
          warm_up(machine, time);
          machine.ns += awake_us * 1000;
          time.unix_us();
          machine.asleep_ns += sleep_ms * kMs;
          const std::uint64_t woke_ns = machine.ns;
          for (int i = 0; i < 400; ++i) {
            machine.ns += kMs * 7 / 10;
            const std::uint64_t us = time.unix_us();
            // Until then a counter that slept too does not tell.
            if (machine.ns - woke_ns > 20 * kMs) CHECK(distance(us, machine.calendar_us()) <= 1);
          }
        }
      }
    }
  }
}

TEST_CASE("counted time: a counter that stops, goes back or is too slow is not believed") {
  SUBCASE("stands still from the start") {
    Machine machine{.counter_stands = true};
    Time time(Source{&machine});
    for (int i = 0; i < 100; ++i, machine.ns += kMs) CHECK(time.unix_us() == machine.calendar_us());
  }
  SUBCASE("goes back, as after a sleep of the machine") {
    Machine machine;
    Time time(Source{&machine});
    warm_up(machine, time);
    machine.counter_lost = 3 * kMs * machine.ticks_per_us / 1000;
    for (int i = 0; i < 100; ++i, machine.ns += kMs / 3)
      CHECK(distance(time.unix_us(), machine.calendar_us()) <= 1);
  }
  SUBCASE("as slow as 7 MHz") {
    Machine machine{.ticks_per_us = 7};
    Time time(Source{&machine});
    for (int i = 0; i < 100; ++i, machine.ns += kMs / 3) CHECK(time.unix_us() == machine.calendar_us());
    CHECK(machine.calendar_readings == 100);
  }
}

TEST_CASE(
    "counted time: asked within a look at the calendar, as by a signal's handler, it reads the calendar") {
  Machine machine;
  Time time(Source{&machine});
  std::uint64_t inside_us = 0;
  for (int i = 0; i < 100; ++i) {
    CAPTURE(i);
    inside_us = 0;
    machine.interrupt = [&] { inside_us = time.unix_us(); };
    const std::uint64_t us = time.unix_us();
    CHECK(distance(us, machine.calendar_us()) <= 1);
    CHECK(inside_us == us);
    machine.ns += 21 * kMs;
  }
}

namespace {

/// Time that all threads share and that passes as they look at it, so that many looks fit into a test.
struct SharedSource {
  std::atomic<std::uint64_t>* ns;

  std::uint64_t ticks() { return 77 + ns->fetch_add(20); }
  std::uint64_t calendar_ns() { return kStartNs + ns->fetch_add(20); }
  std::uint64_t monotonic_ns() { return 5'000'000'000 + ns->fetch_add(20); }
};

}  // namespace

TEST_CASE("counted time: threads never see half of a look at the calendar") {
  std::atomic<std::uint64_t> ns{0};
  std::atomic<std::uint64_t> wrong{0};
  CountedTime<SharedSource> time(SharedSource{&ns});
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 4; ++thread)
    threads.emplace_back([&] {
      for (int i = 0; i < 100'000; ++i) {
        if (i % 50 == 0) ns += kMs;
        const std::uint64_t before = (kStartNs + ns) / 1000;
        const std::uint64_t us = time.unix_us();
        const std::uint64_t after = (kStartNs + ns) / 1000;
        if (us + 5 < before || us > after + 5) ++wrong;
      }
    });
  for (std::thread& thread : threads) thread.join();
  CHECK(wrong == 0);
  CHECK(ns > 4 * 2000 * kMs);
}
