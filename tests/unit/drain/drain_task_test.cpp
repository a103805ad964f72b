#include "platform/template/drain_task.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

#include "opdump/session.hpp"
#include "tests/support/clockwork.hpp"
#include "tests/support/session_bench.hpp"
#include "tests/support/waiting.hpp"

using namespace opdump;
using namespace opdump::tests;

namespace {

/// An RTOS of threads: one notification that stays until it is taken.
struct Threads {
  void notify() {
    {
      const std::lock_guard lock(mutex);
      notified = true;
      ++notifications;
    }
    changed.notify_one();
  }
  void wait(std::uint32_t ms) {
    std::unique_lock lock(mutex);
    changed.wait_for(lock, std::chrono::milliseconds(ms), [this] { return notified; });
    notified = false;
  }
  void sleep(std::uint32_t ms) {
    ++sleeps;
    if (sleeping) sleeping();
    std::this_thread::sleep_for(std::chrono::milliseconds(ms));
  }
  std::uint32_t now_ms() {
    const auto now = std::chrono::steady_clock::now().time_since_epoch();
    return static_cast<std::uint32_t>(std::chrono::duration_cast<std::chrono::milliseconds>(now).count());
  }

  std::mutex mutex;
  std::condition_variable changed;
  bool notified = false;
  int notifications = 0;
  int sleeps = 0;
  std::function<void()> sleeping;  ///< what runs while the control task sleeps
};

struct CountedLog {
  Result<bool> prepare() {
    ++prepared;
    if (failing) return Status::io_error;
    return --steps > 0;
  }
  Status sync() {
    ++syncs;
    return failing ? Status::no_space : Status::ok;
  }

  int steps = 0;
  int prepared = 0;
  int syncs = 0;
  bool failing = false;
};

}  // namespace

TEST_CASE("drain task: prepares the log while the rings are empty, and syncs it when it is due") {
  Bench<4096> bench(WhenFull::drop);
  bench.start(everything());
  Clockwork rtos;
  CountedLog log;
  log.steps = 3;
  DrainTask task(bench.session, rtos, log, 25, 10);
  REQUIRE(task.attach() == Status::ok);
  int turn = 0;
  rtos.waiting = [&] {
    CAPTURE(turn);
    switch (turn++) {
      case 0:
        CHECK(log.prepared == 3);
        CHECK(log.syncs == 0);
        bench.step();  // written in the next turn, which counts the time from then on
        break;
      case 1:
        CHECK(bench.session.counts().written == 3);
        break;
      case 2:
        bench.step();  // later records do not put the sync off
        break;
      case 3:
        CHECK(log.syncs == 0);
        break;
      case 4:
        CHECK(log.syncs == 1);
        break;
      case 20:
        CHECK(log.syncs == 1);  // nothing new
        CHECK(task.log_failure() == Status::ok);
        log.failing = true;
        bench.step();
        break;
      case 26:
        CHECK(log.syncs == 2);
        CHECK(task.log_failure() == Status::io_error);
        CHECK(task.stop(0) == Status::timeout);
        break;
      default:
        break;
    }
  };
  task.run();
  CHECK(turn == 27);
  CHECK(task.stop(0) == Status::ok);
  REQUIRE(bench.session.finalize() == Status::ok);
  CHECK(bench.session.counts().written == 9);
}

TEST_CASE("drain task: prepares the log also where records come in each turn") {
  Bench<4096> bench(WhenFull::drop);
  bench.start(everything());
  Clockwork rtos;
  CountedLog log;
  DrainTask task(bench.session, rtos, log, 25, 10);
  REQUIRE(task.attach() == Status::ok);
  bench.step();
  int turn = 0;
  rtos.waiting = [&] {
    ++turn;
    CAPTURE(turn);
    CHECK(bench.session.counts().written == 3u * static_cast<unsigned>(turn));
    CHECK(log.prepared == turn);
    if (turn == 10) {
      CHECK(task.stop(0) == Status::timeout);
    } else {
      bench.step();
    }
  };
  task.run();
  CHECK(turn == 10);
  CHECK(task.stop(0) == Status::ok);
  REQUIRE(bench.session.finalize() == Status::ok);
}

TEST_CASE("drain task: drains while it is woken, and all that is left when it is stopped") {
  Bench<4096> bench(WhenFull::drop);
  bench.start(everything());
  Threads rtos;
  DrainTask task(bench.session, rtos, 2 * kWaitLimitMs);
  REQUIRE(task.attach() == Status::ok);
  CHECK(bench.session.attach_drainer() == Status::drainer_attached);
  std::thread thread([&task] { task.run(); });
  // Only a ring that fills wakes the task, which else sleeps longer than this test waits.
  for (int step = 0; step < 100; ++step) {
    bench.step();
    wait_until("room in the ring", [&bench] {
      return bench.recorder.sender().ring().used() <= bench.recorder.sender().ring().size() / 2;
    });
  }
  CHECK(rtos.notifications > 0);
  REQUIRE(task.stop(kWaitLimitMs) == Status::ok);
  thread.join();
  CHECK(bench.session.attach_drainer() == Status::ok);
  bench.session.detach_drainer();
  REQUIRE(bench.session.finalize() == Status::ok);
  CHECK(bench.session.counts().lost() == 0);
  CHECK(bench.session.counts().written == 300);
}

TEST_CASE("drain task: a stop that nobody answers times out") {
  Bench<1024> bench(WhenFull::drop);
  Threads rtos;
  DrainTask task(bench.session, rtos);
  REQUIRE(task.attach() == Status::ok);
  CHECK(task.stop(5) == Status::timeout);
  task.run();
  CHECK(task.stop(5) == Status::ok);
  REQUIRE(bench.session.attach_drainer() == Status::ok);
  CHECK(task.stop(5) == Status::ok);
  CHECK(bench.session.attach_drainer() == Status::drainer_attached);  // another's is left alone
  bench.session.detach_drainer();
}

TEST_CASE("drain task: a stop from a task of higher priority lets the drain task run") {
  Bench<4096> bench(WhenFull::drop);
  bench.start(everything());
  Threads rtos;
  DrainTask task(bench.session, rtos);
  REQUIRE(task.attach() == Status::ok);
  bench.step();
  // The drain task runs only while the control task sleeps.
  bool ran = false;
  rtos.sleeping = [&] {
    if (!ran) task.run();
    ran = true;
  };
  CHECK(task.stop(kWaitLimitMs) == Status::ok);
  CHECK(rtos.sleeps == 1);
  REQUIRE(bench.session.finalize() == Status::ok);
  CHECK(bench.session.counts().written == 3);
}
