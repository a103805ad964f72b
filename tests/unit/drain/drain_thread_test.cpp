#include "platform/posix/drain_thread.hpp"

#include <doctest/doctest.h>
#include <signal.h>
#include <time.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <thread>

#include "opdump/port/waker.hpp"
#include "tests/support/child_process.hpp"
#include "tests/support/waiting.hpp"

namespace {

using namespace opdump;
using opdump::posix::DrainOptions;
using namespace std::chrono_literals;

/// Stands for a session: bytes that wait in its rings, and how it was called.
struct FakeSession {
  Status attach_drainer(Waker* to_wake) {
    if (attached.exchange(true)) return Status::drainer_attached;
    waker = to_wake;
    return Status::ok;
  }
  void detach_drainer() { attached = false; }
  std::size_t drain_some(std::size_t budget_bytes) {
    timespec used{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
    const auto now = std::chrono::seconds(used.tv_sec) + std::chrono::nanoseconds(used.tv_nsec);
    if (calls++ == 0) used_at_first = now;
    used_at_last = now;
    largest_budget = std::max(largest_budget.load(), budget_bytes);
    sigset_t mask;
    pthread_sigmask(SIG_SETMASK, nullptr, &mask);
    for (const int number : {SIGINT, SIGTERM, SIGALRM, SIGUSR1})
      if (sigismember(&mask, number) != 1) signals_blocked = false;
    const std::size_t taken = std::min(waiting.load(), budget_bytes);
    waiting -= taken;
    return taken;
  }
  bool take_crowded() { return crowded.exchange(false); }

  Waker* waker = nullptr;
  std::chrono::nanoseconds used_at_first{};  ///< processor time of the drain thread at its first look
  std::chrono::nanoseconds used_at_last{};
  std::atomic<bool> attached{false};
  std::atomic<bool> signals_blocked{true};
  std::atomic<int> calls{0};
  std::atomic<std::size_t> largest_budget{0};
  std::atomic<std::size_t> waiting{0};
  std::atomic<bool> crowded{false};
};

using DrainThread = posix::DrainThread<FakeSession>;

/// Longer than any of these tests.
constexpr std::uint32_t kHourUs = 3'600'000'000;

void wait_for_calls(const FakeSession& session, int calls) {
  tests::wait_until(
      "looks of the drain thread", [&] { return session.calls >= calls; },
      [&] { return std::to_string(session.calls); });
}

void wait_until_empty(const FakeSession& session) {
  tests::wait_until(
      "empty rings", [&] { return session.waiting == 0; },
      [&] { return std::to_string(session.waiting) + " bytes wait"; });
}

/// The thread sleeps at last. A busy machine may stop it between any two of its looks.
void wait_for_rest(const FakeSession& session) {
  int before = -1;
  tests::wait_until(
      "two moments between which the drain thread does not look",
      [&] {
        std::this_thread::sleep_for(100ms);
        const int last = before;
        before = session.calls;
        return last == before;
      },
      [&] { return std::to_string(session.calls) + " looks"; });
}

}  // namespace

TEST_CASE("drain thread: drains while it runs, within its budget, with signals blocked") {
  FakeSession session;
  DrainThread thread;
  REQUIRE(thread.start(session, {.delay_us = 200, .budget_bytes = 1000}) == Status::ok);
  CHECK(session.attached);
  for (int i = 0; i < 5; ++i) {
    session.waiting += 10'500;
    wait_until_empty(session);
  }
  thread.stop();
  CHECK_FALSE(session.attached);
  CHECK(session.signals_blocked);
  CHECK(session.largest_budget == 1000);
}

TEST_CASE("drain thread: stop drains the rest at once, however long the delay") {
  FakeSession session;
  DrainThread thread;
  REQUIRE(thread.start(session, {.delay_us = kHourUs}) == Status::ok);
  wait_for_calls(session, 1);
  std::this_thread::sleep_for(20ms);  // asleep by now, most likely
  session.waiting = 10'000'000;
  {
    const tests::WaitLimit limit("the stop of a drain thread that sleeps for an hour");
    thread.stop();
  }
  CHECK(session.waiting == 0);
  CHECK_FALSE(session.attached);
}

TEST_CASE("drain thread: idle, it looks once per delay, and sleeps in between") {
  FakeSession session;
  DrainThread thread;
  const auto before = std::chrono::steady_clock::now();
  REQUIRE(thread.start(session, {.delay_us = 10'000}) == Status::ok);
  wait_for_calls(session, 20);
  thread.stop();
  const auto delays = (std::chrono::steady_clock::now() - before) / 10ms;
  CHECK(session.calls <= delays + 3);
  // Of its own processor time, which no other load adds to: a tenth of what it would use awake.
  CHECK(session.used_at_last - session.used_at_first <= (session.calls - 1) * 1ms);
}

TEST_CASE("drain thread: looks again soon while the rings fill fast, and then sleeps") {
  FakeSession session;
  session.crowded = true;
  DrainThread thread;
  REQUIRE(thread.start(session, {.delay_us = kHourUs}) == Status::ok);
  wait_for_calls(session, 3);
  wait_for_rest(session);
  thread.stop();
}

TEST_CASE("drain thread: once woken, it sleeps for a shorter time") {
  FakeSession session;
  DrainThread thread;
  REQUIRE(thread.start(session, {.delay_us = 32'000'000}) == Status::ok);
  wait_for_calls(session, 1);
  session.waker->wake();
  wait_for_calls(session, 2);
  const auto woken = std::chrono::steady_clock::now();
  wait_for_calls(session, 3);  // after 2 s
  CHECK(std::chrono::steady_clock::now() - woken < 24s);
  thread.stop();
}

TEST_CASE("drain thread: stop may come twice, early, or by the destructor; start may come again") {
  FakeSession session;
  {
    DrainThread thread;
    thread.stop();
    for (int i = 0; i < 20; ++i) {
      session.waiting = 5;
      REQUIRE(thread.start(session) == Status::ok);
      thread.stop();
      thread.stop();
      CHECK(session.waiting == 0);
    }
    REQUIRE(thread.start(session) == Status::ok);
    session.waiting = 7;
  }
  CHECK(session.waiting == 0);
  CHECK_FALSE(session.attached);
}

TEST_CASE("drain thread: refuses a second start and a budget of nothing") {
  FakeSession session;
  FakeSession other;
  DrainThread thread;
  CHECK(thread.start(session, {.budget_bytes = 0}) == Status::invalid_argument);
  CHECK_FALSE(session.attached);
  REQUIRE(thread.start(session) == Status::ok);
  CHECK(thread.start(session) == Status::drainer_attached);
  CHECK(thread.start(other) == Status::drainer_attached);
  CHECK_FALSE(other.attached);
  DrainThread second;
  CHECK(second.start(session) == Status::drainer_attached);
  second.stop();
  CHECK(session.attached);
}

TEST_CASE("drain thread: leaves the caller's signal mask as it was") {
  sigset_t before;
  sigset_t after;
  pthread_sigmask(SIG_SETMASK, nullptr, &before);
  FakeSession session;
  DrainThread thread;
  REQUIRE(thread.start(session) == Status::ok);
  pthread_sigmask(SIG_SETMASK, nullptr, &after);
  for (int number = 1; number < 32; ++number)
    CHECK(sigismember(&before, number) == sigismember(&after, number));
}

TEST_CASE("drain thread: a forked child can let go of it") {
  FakeSession session;
  auto thread = std::make_unique<DrainThread>();
  REQUIRE(thread->start(session) == Status::ok);
  const int result = tests::in_child([&] {
    tests::limit_child();
    thread.reset();
    OPDUMP_CHILD_CHECK(!session.attached);
    return 0;
  });
  CHECK(result == 0);
  CHECK(session.attached);
  thread->stop();
  CHECK_FALSE(session.attached);
}
