#include <doctest/doctest.h>
#include <pthread.h>
#include <signal.h>
#include <sys/time.h>

#include <atomic>

#include "platform/posix/drain_thread.hpp"
#include "tests/support/session_bench.hpp"
#include "tests/support/waiting.hpp"

using namespace opdump;
using namespace opdump::tests;

namespace {

constexpr int kSignals = 20'000;
constexpr int kSignalledSteps = 20'000;

/// What the signal handler captures.
struct InHandler {
  BasicRecorder<FakeMemory>* recorder = nullptr;
  ModelPlan* plan = nullptr;
  const TensorView* tensor = nullptr;
  std::atomic<int> signals{0};
  std::atomic<int> refused{0};

  void capture() {
    if (signals.fetch_add(1, std::memory_order_relaxed) + 1 == kSignals) {
      const itimerval none{};
      setitimer(ITIMER_REAL, &none, nullptr);
    }
    const bool went = recorder->begin_step(*plan) == Status::ok;
    recorder->capture(0, {tensor, 1}, {});
    if (!went || recorder->end_step() != Status::ok) refused.fetch_add(1, std::memory_order_relaxed);
  }
};

InHandler* in_handler = nullptr;

}  // namespace

TEST_CASE("signal handler: captures whatever it has interrupted, and wakes the drain thread") {
  Bench<1024> bench(WhenFull::drop);
  bench.start(everything());
  alignas(8) std::byte ring[1024];
  ModelPlan plan;
  std::uint8_t bits[3] = {};
  REQUIRE(bench.session.load_model(plan, kModel, bits) == Status::ok);
  InHandler state;
  state.recorder = bench.session.add_recorder(ring).value();
  state.plan = &plan;
  state.tensor = &bench.tensors.input;
  in_handler = &state;

  sigset_t alarm;
  sigemptyset(&alarm);
  sigaddset(&alarm, SIGALRM);
  pthread_sigmask(SIG_BLOCK, &alarm, nullptr);
  const WaitLimit limit("captures in a signal handler");
  posix::DrainThread<BasicSession<FakeMemory>> drain;
  // It sleeps until it is woken.
  REQUIRE(drain.start(bench.session, {.delay_us = 1'000'000}) == Status::ok);
  struct sigaction action {};
  struct sigaction before {};
  action.sa_handler = [](int) { in_handler->capture(); };
  sigaction(SIGALRM, &action, &before);
  pthread_sigmask(SIG_UNBLOCK, &alarm, nullptr);
  const itimerval often = {.it_interval = {0, 20}, .it_value = {0, 20}};
  REQUIRE(setitimer(ITIMER_REAL, &often, nullptr) == 0);
  constexpr std::uint32_t kWritten = 100;
  for (int step = 0; step < kSignalledSteps || state.signals.load() < kSignals ||
                     bench.session.counts().written <= kWritten;
       ++step) {
    REQUIRE(bench.recorder.begin_step(bench.plan) == Status::ok);
    bench.recorder.capture(0, {&bench.tensors.input, 1}, {});
    REQUIRE(bench.recorder.end_step() == Status::ok);
  }
  drain.stop();
  sigaction(SIGALRM, &before, nullptr);
  REQUIRE(bench.session.finalize() == Status::ok);
  CHECK(state.refused.load() == 0);
  const DumpCounts counts = bench.session.counts();
  CHECK(counts.wanted >= kSignals + kSignalledSteps);
  CHECK(counts.written > kWritten);
  CHECK(counts.written + counts.ring_full == counts.wanted);
  check_adds_up(counts);
}
