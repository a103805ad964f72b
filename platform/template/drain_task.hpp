#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "opdump/port/waker.hpp"
#include "opdump/recorder.hpp"

namespace opdump {
inline namespace OPDUMP_NAMESPACE {

/// A low-priority task of an RTOS that drains one session. `Rtos` is the port: copy this one, which is
/// FreeRTOS's, or write the same four functions for another kernel.
///
///     struct FreeRtos {
///       TaskHandle_t task = nullptr;
///       // Makes a `wait` that is under way, or the next one, return. From any task or interrupt.
///       void notify() {
///         if (xPortIsInsideInterrupt()) {
///           BaseType_t yield = pdFALSE;
///           vTaskNotifyGiveFromISR(task, &yield);
///           portYIELD_FROM_ISR(yield);
///         } else {
///           xTaskNotifyGive(task);
///         }
///       }
///       // Sleeps until notified or for `ms`. On the drain task.
///       void wait(std::uint32_t ms) { ulTaskNotifyTake(pdTRUE, pdMS_TO_TICKS(ms)); }
///       // Lets tasks of lower priority run for about `ms`. On the control task, which may have any priority.
///       void sleep(std::uint32_t ms) { vTaskDelay(pdMS_TO_TICKS(ms) + 1); }
///       // Milliseconds that only grow, wrapping at 32 bits.
///       std::uint32_t now_ms() { return xTaskGetTickCount() * portTICK_PERIOD_MS; }
///     };
///
///     void drain(void* task) { static_cast<DrainTask<Session, FreeRtos>*>(task)->run();
///     vTaskDelete(nullptr); } xTaskCreate(drain, "opdump", 512, &task, tskIDLE_PRIORITY + 1, &rtos.task);
template <class Session, class Rtos>
class DrainTask final : private Waker {
 public:
  static constexpr std::size_t kBudgetBytes = 4096;

  /// `period_ms`: how long a record waits at most while nothing fills a ring.
  DrainTask(Session& session, Rtos& rtos, std::uint32_t period_ms = 10)
      : session_(session), rtos_(rtos), period_ms_(period_ms) {}

  /// Before the task is created. Errors are those of `Session::attach_drainer`.
  [[nodiscard]] Status attach() {
    // Recorders that never wait wake nobody: the task looks at its own times.
    return session_.attach_drainer(OPDUMP_WAIT != 0 ? this : nullptr);
  }

  /// The task's whole life: returns when `stop` was called and the rings were seen empty.
  void run() {
    // acquire: what was captured before `stop` comes before; pairs with the release there.
    while (!stopping_.load(std::memory_order_acquire)) {
      if (session_.drain_some(kBudgetBytes) < kBudgetBytes) rtos_.wait(period_ms_);
    }
    while (session_.drain_some(kBudgetBytes) != 0) {
    }
    // release: the task's last use of the session comes before; pairs with the acquire in `stop`.
    done_.store(true, std::memory_order_release);
  }

  /// From the control context, once recorders rest: waits for `run` to end and detaches. `timeout`, with the
  /// task still to end, after `limit_ms`; call again.
  [[nodiscard]] Status stop(std::uint32_t limit_ms) {
    stopping_.store(true, std::memory_order_release);  // partner: `run`
    const std::uint32_t start = rtos_.now_ms();
    while (!done_.load(std::memory_order_acquire)) {  // partner: the end of `run`
      if (rtos_.now_ms() - start >= limit_ms) return Status::timeout;
      rtos_.notify();
      rtos_.sleep(1);
    }
    session_.detach_drainer();
    return Status::ok;
  }

 private:
  void wake() override { rtos_.notify(); }

  Session& session_;
  Rtos& rtos_;
  const std::uint32_t period_ms_;
  std::atomic<bool> stopping_{false};
  std::atomic<bool> done_{false};
};

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump
