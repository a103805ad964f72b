#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "opdump/base/status.hpp"
#include "opdump/port/waker.hpp"
#include "opdump/recorder.hpp"

namespace opdump {
inline namespace OPDUMP_NAMESPACE {

/// What a DrainTask has no log for.
struct NoLog {
  static Status sync() { return Status::ok; }
};

/// A low-priority task of an RTOS that drains one session, and between two turns does for the log behind it, such as
/// a `flashlog::FlashLog`, what is for idle time. `Rtos` is the port: [FreeRTOS's](../freertos/kernel.hpp),
/// [Zephyr's](../zephyr/kernel.hpp), or the same four functions over another kernel:
///
///     struct Rtos {
///       // Makes a `wait` that is under way, or the next one, return. From any task or interrupt.
///       void notify();
///       // Sleeps until notified or for `ms`, and never not at all. On the drain task.
///       void wait(std::uint32_t ms);
///       // Lets tasks of lower priority run for about `ms`. On the control task, of any priority.
///       void sleep(std::uint32_t ms);
///       // Milliseconds that only grow, wrapping at 32 bits.
///       std::uint32_t now_ms();
///     };
template <class Session, class Rtos, class Log = NoLog>
class DrainTask final : private Waker {
 public:
  static constexpr std::size_t kBudgetBytes = 4096;

  /// `period_ms`: how long a record waits at most while nothing fills a ring.
  DrainTask(Session& session, Rtos& rtos, std::uint32_t period_ms = 10)
      : session_(session), rtos_(rtos), period_ms_(period_ms) {}

  /// `log` is the session's sink or stands behind it. Where it has a `prepare`, as a FlashLog has, that is
  /// called while the rings are empty, one step at a time. Its `sync` is called `sync_ms` after records have
  /// come, or later: so much a loss of power may take. Where it has an `is_ready(bytes)`, as an ErasesAhead
  /// has, nothing is drained before it is ready for `budget_bytes`, or has no step to take any more.
  DrainTask(Session& session, Rtos& rtos, Log& log, std::uint32_t sync_ms, std::uint32_t period_ms = 10,
            std::size_t budget_bytes = kBudgetBytes)
      : session_(session),
        rtos_(rtos),
        log_(&log),
        period_ms_(period_ms),
        sync_ms_(sync_ms),
        budget_bytes_(budget_bytes) {}

  /// Before the task is created. Errors are those of `Session::attach_drainer`.
  [[nodiscard]] Status attach() {
    // Recorders that never wait wake nobody: the task looks at its own times.
    return session_.attach_drainer(OPDUMP_WAIT != 0 ? this : nullptr);
  }

  /// The task's whole life: returns when `stop` was called and the rings were seen empty.
  void run() {
    // acquire: what was captured before `stop` comes before; pairs with the release there.
    while (!stopping_.load(std::memory_order_acquire)) {
      if (!is_ready() && prepare()) continue;
      const std::size_t moved = session_.drain_some(budget_bytes_);
      if (moved != 0) note_moved();
      sync_if_due();
      if (moved >= budget_bytes_ || prepare()) continue;
      rtos_.wait(period_ms_);
    }
    do {
      while (!is_ready() && prepare()) {
      }
    } while (session_.drain_some(budget_bytes_) != 0);
    // release: the task's last use of the session comes before; pairs with the acquire in `stop`.
    done_.store(true, std::memory_order_release);
  }

  /// Why a `prepare` or `sync` of the log failed, the last time; `ok` when none did. Any context.
  Status log_failure() const { return static_cast<Status>(log_failure_.load(std::memory_order_relaxed)); }

  /// From the control context, once recorders rest: waits for `run` to end and detaches. `timeout`, with the
  /// task still to end, after `limit_ms`; call again. After `ok` it does nothing and returns `ok`.
  [[nodiscard]] Status stop(std::uint32_t limit_ms) {
    if (detached_) return Status::ok;
    stopping_.store(true, std::memory_order_release);  // partner: `run`
    const std::uint32_t start = rtos_.now_ms();
    while (!done_.load(std::memory_order_acquire)) {  // partner: the end of `run`
      if (rtos_.now_ms() - start >= limit_ms) return Status::timeout;
      rtos_.notify();
      rtos_.sleep(1);
    }
    session_.detach_drainer();
    detached_ = true;
    return Status::ok;
  }

 private:
  void wake() override { rtos_.notify(); }

  void note(Status status) {
    if (status != Status::ok)
      log_failure_.store(static_cast<std::uint8_t>(status), std::memory_order_relaxed);
  }

  void note_moved() {
    if (log_ != nullptr && !unsynced_) moved_ms_ = rtos_.now_ms();
    unsynced_ = log_ != nullptr;
  }

  void sync_if_due() {
    if (!unsynced_ || rtos_.now_ms() - moved_ms_ < sync_ms_) return;
    unsynced_ = false;
    // What the journals tell first needs room, as a drain does.
    while (!is_ready() && prepare()) {
    }
    note(session_.tell_certain());
    note(log_->sync());
  }

  bool is_ready() const {
    if constexpr (requires(const Log& log) { log.is_ready(std::size_t{}); }) {
      return log_ == nullptr || log_->is_ready(budget_bytes_);
    }
    return true;
  }

  /// One step; true when there may be another.
  bool prepare() {
    if constexpr (requires(Log & log) { log.prepare(); }) {
      if (log_ == nullptr) return false;
      const Result<bool> again = log_->prepare();
      note(again.status());
      return again.ok() && again.value();
    }
    return false;
  }

  Session& session_;
  Rtos& rtos_;
  Log* const log_ = nullptr;
  const std::uint32_t period_ms_;
  const std::uint32_t sync_ms_ = 0;
  const std::size_t budget_bytes_ = kBudgetBytes;
  std::uint32_t moved_ms_ = 0;  ///< when the first record came that is not synced
  bool unsynced_ = false;
  bool detached_ = false;  ///< of the control context
  std::atomic<std::uint8_t> log_failure_{0};
  std::atomic<bool> stopping_{false};
  std::atomic<bool> done_{false};
};

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump
