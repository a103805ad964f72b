#pragma once
#include <pthread.h>
#include <signal.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "opdump/base/cpu.hpp"
#include "opdump/port/waker.hpp"
#include "opdump/recorder.hpp"
#include "platform/posix/impl/wake_event.hpp"

namespace opdump::posix {
inline namespace OPDUMP_NAMESPACE {

struct DrainOptions {
  /// Microseconds to sleep when the rings are empty; a record waits at most about this long before it moves. While
  /// nothing is captured, the thread costs only this wake-up. 0 polls without sleeping, which slows the producers.
  std::uint32_t delay_us = 1000;
  std::size_t budget_bytes = std::size_t{1} << 20;  ///< bytes to move between two checks for `stop`; not 0
};

/// A thread that drains one session. It looks at the rings every `delay_us` and sleeps in between. While rings fill
/// fast it looks every few microseconds instead, and goes on doing so for some tens of microseconds after they last
/// did. A producer whose ring is more than half full, or has no room, wakes the thread early and pays for that (some
/// 20 us if the thread's core was idle); a producer with an emptier ring never wakes it. So that a producer seldom
/// has to wake it twice, the thread then sleeps at most half as long as it had slept, down to a sixteenth of
/// `delay_us`, and longer again once it finds the rings nearly empty. All signals are blocked in the thread.
///
/// `Session` needs `Status attach_drainer(Waker*)`, `void detach_drainer()`, `std::size_t
/// drain_some(std::size_t budget_bytes)`, which returns the bytes it took out of rings, and `bool
/// take_crowded()`, which says whether `drain_some` found a ring filling fast.
///
/// `start` and `stop` are called by one thread at a time, never by the drain thread, and while no recorder
/// captures. Neither this object nor the session may move or end between them. A recorder wakes the thread
/// without taking a lock, so it may capture in a signal handler that has interrupted anything.
template <class Session>
class DrainThread final : private Waker {
 public:
  using Options = DrainOptions;

  DrainThread() = default;
  DrainThread(const DrainThread&) = delete;
  DrainThread& operator=(const DrainThread&) = delete;
  ~DrainThread() { stop(); }

  /// `drainer_attached` when this thread runs already or the session has a drainer; `invalid_argument` for a
  /// budget of 0; `too_many_objects` when the system refuses another thread. After an error no thread runs
  /// and no drainer is attached.
  [[nodiscard]] Status start(Session& session, Options options = {}) {
    if (session_ != nullptr) return Status::drainer_attached;
    if (options.budget_bytes == 0) return Status::invalid_argument;
    if (const Status status = session.attach_drainer(this); status != Status::ok) return status;
    session_ = &session;
    options_ = options;
    delay_us_ = options.delay_us;
    stopping_.store(false, std::memory_order_relaxed);
    owner_ = getpid();
    if (create_thread()) return Status::ok;
    session_ = nullptr;
    session.detach_drainer();
    return Status::too_many_objects;
  }

  /// Returns when the rings were seen empty, the thread has ended and the session is detached; at once when no thread
  /// runs. Producers should rest by then: while they fill the rings faster than the sink takes the records, `stop`
  /// does not return. In a child after fork(), which has no such thread, it only detaches the child's copy.
  void stop() {
    if (session_ == nullptr) return;
    if (is_there()) {
      stopping_.store(true, std::memory_order_release);  // partner: `drain`
      event_.set();
      pthread_join(thread_, nullptr);
    }
    session_->detach_drainer();
    session_ = nullptr;
    event_.close();
  }

 private:
  bool create_thread() {
    if (!event_.open()) return false;
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);  // a thread inherits its creator's mask
    const bool created = pthread_create(&thread_, nullptr, &DrainThread::run, this) == 0;
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    if (!created) event_.close();
    return created;
  }

  static void* run(void* self) {
    static_cast<DrainThread*>(self)->drain();
    return nullptr;
  }

  void drain() {
    int looks = 0;  // looks left before the thread sleeps
    bool slept = false;
    // acquire: what was captured before `stop` comes before; pairs with the release there.
    while (!stopping_.load(std::memory_order_acquire)) {
      const bool emptied = session_->drain_some(options_.budget_bytes) < options_.budget_bytes;
      if (session_->take_crowded()) {
        looks = kLooks;
      } else if (slept) {
        sleep_longer();
      }
      slept = false;
      const bool linger = emptied && looks != 0;
      if (linger) {
        --looks;
        let_fill();
      } else if (emptied) {
        sleep();
        slept = true;
      }
    }
    while (session_->drain_some(options_.budget_bytes) != 0) {
    }
  }

  void wake() override {
    if (is_there()) event_.set();
  }

  bool is_there() const override { return owner_ == getpid(); }

  static timespec now() {
    timespec time{};
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time;
  }

  /// Leaves the rings alone for a moment: each look at them costs the producers more than a small record.
  static void let_fill() {
    const timespec start = now();
    for (timespec at = start; ns_between(start, at) < kFillNs; at = now()) cpu_relax();
  }

  static std::int64_t ns_between(const timespec& start, const timespec& end) {
    return std::int64_t{end.tv_sec - start.tv_sec} * 1'000'000'000 + (end.tv_nsec - start.tv_nsec);
  }

  /// Called after a sleep in which no ring has filled much.
  void sleep_longer() {
    delay_us_ = delay_us_ < options_.delay_us / 2 ? 2 * delay_us_ + 1 : options_.delay_us;
  }

  void sleep() {
    const timespec start = now();
    if (!event_.take_within(delay_us_)) return;
    const std::uint32_t shortest = options_.delay_us / 16;
    const std::int64_t filled_in_us = ns_between(start, now()) / 1000;
    delay_us_ = filled_in_us / 2 < shortest ? shortest : static_cast<std::uint32_t>(filled_in_us / 2);
  }

  static constexpr int kLooks = 8;
  static constexpr long kFillNs = 5000;

  Session* session_ = nullptr;  // null: no thread runs
  Options options_;
  std::uint32_t delay_us_ = 0;  // of the next sleep
  pid_t owner_ = 0;
  std::atomic<bool> stopping_{false};
  WakeEvent event_;  // set by recorders and `stop`
  pthread_t thread_{};
};

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::posix
