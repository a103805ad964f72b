#include "platform/posix/drain_thread.hpp"

#include <doctest/doctest.h>
#include <signal.h>
#include <time.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <thread>

#include "opdump/port/waker.hpp"
#include "tests/support/child_process.hpp"

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

bool becomes_empty(const FakeSession& session) {
  for (int i = 0; i < 5000 && session.waiting != 0; ++i) std::this_thread::sleep_for(1ms);
  return session.waiting == 0;
}

/// Whether the thread sleeps at last. A busy machine may stop it between any two of its looks.
bool comes_to_rest(const FakeSession& session) {
  for (int i = 0; i < 50; ++i) {
    const int calls = session.calls;
    std::this_thread::sleep_for(100ms);
    if (session.calls == calls) return true;
  }
  return false;
}

}  // namespace

TEST_CASE("drain thread: drains while it runs, within its budget, with signals blocked") {
  FakeSession session;
  DrainThread thread;
  REQUIRE(thread.start(session, {.delay_us = 200, .budget_bytes = 1000}) == Status::ok);
  CHECK(session.attached);
  for (int i = 0; i < 5; ++i) {
    session.waiting += 10'500;
    CHECK(becomes_empty(session));
  }
  thread.stop();
  CHECK_FALSE(session.attached);
  CHECK(session.signals_blocked);
  CHECK(session.largest_budget == 1000);
}

TEST_CASE("drain thread: stop drains the rest at once, however long the delay") {
  FakeSession session;
  DrainThread thread;
  REQUIRE(thread.start(session, {.delay_us = 60'000'000}) == Status::ok);
  while (session.calls == 0) std::this_thread::yield();
  std::this_thread::sleep_for(20ms);  // asleep by now, most likely
  session.waiting = 10'000'000;
  const auto before = std::chrono::steady_clock::now();
  thread.stop();
  CHECK(std::chrono::steady_clock::now() - before < 30s);
  CHECK(session.waiting == 0);
  CHECK_FALSE(session.attached);
}

TEST_CASE("drain thread: idle, it looks once per delay, and sleeps in between") {
  FakeSession session;
  DrainThread thread;
  const auto before = std::chrono::steady_clock::now();
  REQUIRE(thread.start(session, {.delay_us = 10'000}) == Status::ok);
  std::this_thread::sleep_for(200ms);
  thread.stop();
  const auto delays = (std::chrono::steady_clock::now() - before) / 10ms;
  CHECK(session.calls >= 2);
  CHECK(session.calls <= delays + 3);
  // Of its own processor time, which no other load adds to: a tenth of what it would use awake.
  CHECK(session.used_at_last - session.used_at_first <= (session.calls - 1) * 1ms);
}

TEST_CASE("drain thread: looks again soon while the rings fill fast, and then sleeps") {
  FakeSession session;
  session.crowded = true;
  DrainThread thread;
  REQUIRE(thread.start(session, {.delay_us = 60'000'000}) == Status::ok);
  for (int i = 0; i < 5000 && session.calls < 3; ++i) std::this_thread::sleep_for(1ms);
  CHECK(session.calls >= 3);
  CHECK(comes_to_rest(session));
  thread.stop();
}

TEST_CASE("drain thread: once woken, it sleeps for a shorter time") {
  FakeSession session;
  DrainThread thread;
  REQUIRE(thread.start(session, {.delay_us = 8'000'000}) == Status::ok);
  while (session.calls < 1) std::this_thread::yield();
  session.waker->wake();
  while (session.calls < 2) std::this_thread::yield();
  const auto woken = std::chrono::steady_clock::now();
  while (session.calls < 3) std::this_thread::sleep_for(1ms);
  CHECK(std::chrono::steady_clock::now() - woken < 6s);
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
    alarm(30);  // ends a child that waits for a thread it does not have
    thread.reset();
    OPDUMP_CHILD_CHECK(!session.attached);
    return 0;
  });
  CHECK(result == 0);
  CHECK(session.attached);
  thread->stop();
  CHECK_FALSE(session.attached);
}
