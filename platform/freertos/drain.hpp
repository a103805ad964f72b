#pragma once
#include <cstddef>
#include <cstdint>

#include "platform/freertos/kernel.hpp"
#include "platform/template/drain_task.hpp"

namespace opdump::freertos {
inline namespace OPDUMP_NAMESPACE {

/// A task of FreeRTOS that drains one session, with its stack and its control block in this object: no heap.
/// `kStackBytes` must hold what a drain and the log take and an interrupt's frame
/// ([figures](../../tests/firmware/README.md)).
///
///     freertos::Drain<BasicSession<HostMemory>, flashlog::FlashLog> drain(session, flash_log, 1000);
///     drain.start(tskIDLE_PRIORITY + 1);
///
/// `start` and `stop` are called by one task at a time. The object must live until `stop` has returned `ok`.
template <class Session, class Log = NoLog, std::size_t kStackBytes = 2048>
class Drain final {
 public:
  /// As the constructors of DrainTask.
  explicit Drain(Session& session, std::uint32_t period_ms = 10) : drain_(session, kernel_, period_ms) {}
  Drain(Session& session, Log& log, std::uint32_t sync_ms, std::uint32_t period_ms = 10)
      : drain_(session, kernel_, log, sync_ms, period_ms) {}
  Drain(const Drain&) = delete;
  Drain& operator=(const Drain&) = delete;

  /// Attaches to the session and makes the task, also before the scheduler runs. Once in the object's life:
  /// `already_initialised` after that. Else errors are those of `Session::attach_drainer`.
  [[nodiscard]] Status start(UBaseType_t priority, const char* name = "opdump") {
    if (task_ != nullptr) return Status::already_initialised;
    if (const Status status = drain_.attach(); status != Status::ok) return status;
    task_ = xTaskCreateStatic(run, name, kStackWords, this, priority, stack_, &block_);
    kernel_.set_task(task_);
    return Status::ok;
  }

  /// Once recorders rest, from a task of any priority but not from the drain task: waits until the rings were
  /// seen empty, ends the task and detaches. `timeout` after `limit_ms`, with all as it was: call again.
  /// `not_initialised` when no task runs.
  [[nodiscard]] Status stop(std::uint32_t limit_ms) {
    if (task_ == nullptr || stopped_) return Status::not_initialised;
    const std::uint32_t start = kernel_.now_ms();
    if (const Status status = drain_.stop(limit_ms); status != Status::ok) return status;
    // Where cores are several, the task may not yet have come to rest.
    while (eTaskGetState(task_) != eSuspended) {
      if (kernel_.now_ms() - start >= limit_ms) return Status::timeout;
      kernel_.sleep(1);
    }
    kernel_.set_task(nullptr);
    vTaskDelete(task_);
    stopped_ = true;
    return Status::ok;
  }

  /// As `DrainTask::log_failure`.
  Status log_failure() const { return drain_.log_failure(); }

 private:
  static_assert(
      INCLUDE_eTaskGetState == 1 && INCLUDE_vTaskSuspend == 1 && INCLUDE_vTaskDelete == 1 &&
          configSUPPORT_STATIC_ALLOCATION == 1,
      "FreeRTOSConfig.h has to include eTaskGetState, vTaskSuspend, vTaskDelete and static allocation");

  static constexpr std::uint32_t kStackWords = kStackBytes / sizeof(StackType_t);

  static void run(void* self) {
    static_cast<Drain*>(self)->drain_.run();
    for (;;) vTaskSuspend(nullptr);
  }

  Kernel kernel_;
  DrainTask<Session, Kernel, Log> drain_;
  TaskHandle_t task_ = nullptr;
  bool stopped_ = false;
  StaticTask_t block_;
  alignas(8) StackType_t stack_[kStackWords];
};

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::freertos
