#pragma once
#include <cstddef>
#include <cstdint>

#include "platform/template/drain_task.hpp"
#include "platform/zephyr/kernel.hpp"

namespace opdump::zephyr {
inline namespace OPDUMP_NAMESPACE {

/// A thread of Zephyr that drains one session, with its stack in this object. `kStackBytes` must hold what a
/// drain and the log take ([figures](../../tests/firmware/README.md)).
///
///     zephyr::Drain<BasicSession<HostMemory>, flashlog::FlashLog> drain(session, flash_log, 1000);
///     drain.start(K_LOWEST_APPLICATION_THREAD_PRIO);
///
/// `start` and `stop` are called by one thread at a time. The object is static, as stacks have to be, and
/// lives until `stop` has returned `ok`.
template <class Session, class Log = NoLog, std::size_t kStackBytes = 2048>
class Drain final {
 public:
  /// As the constructors of DrainTask.
  explicit Drain(Session& session, std::uint32_t period_ms = 10) : drain_(session, kernel_, period_ms) {}
  Drain(Session& session, Log& log, std::uint32_t sync_ms, std::uint32_t period_ms = 10)
      : drain_(session, kernel_, log, sync_ms, period_ms) {}
  Drain(const Drain&) = delete;
  Drain& operator=(const Drain&) = delete;

  /// Attaches to the session and makes the thread. Once in the object's life: `already_initialised` after
  /// that. Else errors are those of `Session::attach_drainer`.
  [[nodiscard]] Status start(int priority) {
    if (started_) return Status::already_initialised;
    if (const Status status = drain_.attach(); status != Status::ok) return status;
    started_ = true;
    k_thread_create(&thread_, stack_, K_KERNEL_STACK_SIZEOF(stack_), run, this, nullptr, nullptr, priority, 0,
                    K_NO_WAIT);
    return Status::ok;
  }

  /// Once recorders rest, from a thread of any priority but not from the drain thread: waits until the rings
  /// were seen empty and the thread has ended, and detaches. `timeout` after `limit_ms`: call again.
  /// `not_initialised` when no thread runs.
  [[nodiscard]] Status stop(std::uint32_t limit_ms) {
    if (!started_ || stopped_) return Status::not_initialised;
    const std::uint32_t start = kernel_.now_ms();
    if (const Status status = drain_.stop(limit_ms); status != Status::ok) return status;
    const std::uint32_t spent = kernel_.now_ms() - start;
    if (k_thread_join(&thread_, K_MSEC(spent < limit_ms ? limit_ms - spent : 1)) != 0) return Status::timeout;
    stopped_ = true;
    return Status::ok;
  }

  /// As `DrainTask::log_failure`.
  Status log_failure() const { return drain_.log_failure(); }

 private:
  static void run(void* self, void*, void*) { static_cast<Drain*>(self)->drain_.run(); }

  Kernel kernel_;
  DrainTask<Session, Kernel, Log> drain_;
  bool started_ = false;
  bool stopped_ = false;
  struct k_thread thread_;
  K_KERNEL_STACK_MEMBER(stack_, kStackBytes);
};

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::zephyr
