// Time that is counted on, run by relacy under the C++ memory model: threads that ask for the time while
// others look at the calendar.

#include <cstdio>
#include <cstdlib>
#include <iostream>

#include "platform/posix/time/counted_time.hpp"
#include "relacy_parts.hpp"

namespace {

using namespace opdump::tests;

constexpr std::uint64_t kMs = 1'000'000;

/// A machine whose time passes as it is looked at, or told to. The threads are fibers of one, so that the
/// time itself needs no order.
struct Machine {
  std::uint64_t ns = 0;
  rl::var<std::uint64_t>
      looks;  ///< written by who looks at the calendar: one after the other, or it is a race
};

struct Source {
  Machine* machine;

  std::uint64_t ticks() { return 77 + pass(); }
  std::uint64_t calendar_ns() { return calendar_now() + pass() - machine->ns; }
  std::uint64_t monotonic_ns() {
    machine->looks({"", __FILE__, __LINE__}).store(machine->ns);
    return 5000 * kMs + pass();
  }
  std::uint64_t calendar_now() const { return 1'700'000'000'000 * kMs + machine->ns; }

 private:
  std::uint64_t pass() { return machine->ns += 10; }
};

class CountedTimeModel : public rl::test_suite<CountedTimeModel, 2> {
 public:
  void before() {
    for (int i = 0; i < 3; ++i) {
      ask();
      machine_.ns += 2 * kMs;
    }
  }

  void thread(unsigned index) {
    ask();
    machine_.ns += (index == 0 ? 25 : 5) * kMs;
    ask();
  }

 private:
  void ask() {
    const std::uint64_t before = source_.calendar_now() / 1000;
    const std::uint64_t us = time_.unix_us();
    const std::uint64_t after = source_.calendar_now() / 1000;
    RL_ASSERT(us + 5 >= before && us <= after + 5);
  }

  Machine machine_;
  Source source_{&machine_};
  opdump::posix::CountedTime<Source, CheckedAtomic> time_{source_};
};

}  // namespace

int main() {
  rl::test_params params;
  params.search_type = rl::sched_bound;
  params.context_bound = 4;
  if (!rl::simulate<CountedTimeModel>(params)) return EXIT_FAILURE;
  std::printf("%llu executions, no race, no wrong time\n",
              static_cast<unsigned long long>(params.stop_iteration));
  return EXIT_SUCCESS;
}
