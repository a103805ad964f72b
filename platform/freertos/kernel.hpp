#pragma once
// ESP-IDF has FreeRTOS in a folder of its own.
#if __has_include("freertos/FreeRTOS.h")
#include "freertos/FreeRTOS.h"
#include "freertos/task.h"
#else
#include "FreeRTOS.h"
#include "task.h"
#endif

#include <atomic>
#include <cstdint>

#include "opdump/knobs.hpp"

namespace opdump::freertos {
inline namespace OPDUMP_NAMESPACE {

/// FreeRTOS as a DrainTask wants it ([drain_task.hpp](../template/drain_task.hpp)). Needs a port that tells
/// whether an interrupt runs (`xPortIsInsideInterrupt`, ESP-IDF's `xPortInIsrContext`) and task
/// notifications, of which it takes the drain task's first. Interrupts that capture have a priority from
/// which they may call FreeRTOS (`configMAX_SYSCALL_INTERRUPT_PRIORITY`).
class Kernel {
 public:
  /// The task to wake; null: there is none. Any context.
  void set_task(TaskHandle_t task) { task_.store(task, std::memory_order_release); }

  /// Makes a `wait` that is under way, or the next one, return. From any task or interrupt; does nothing
  /// before the task is set.
  void notify() {
    const TaskHandle_t task = task_.load(std::memory_order_acquire);
    if (task == nullptr) return;
    if (in_interrupt()) {
      BaseType_t yield = pdFALSE;
      vTaskNotifyGiveFromISR(task, &yield);
      portYIELD_FROM_ISR(yield);
    } else {
      xTaskNotifyGive(task);
    }
  }

  /// Sleeps until notified or for `ms`, one tick at least. On the drain task.
  void wait(std::uint32_t ms) { ulTaskNotifyTake(pdTRUE, ticks_of(ms)); }

  /// Lets tasks of lower priority run for `ms`, one tick more at most. On any other task.
  void sleep(std::uint32_t ms) { vTaskDelay(ticks_of(ms) + 1); }

  /// Milliseconds that only grow, wrapping at 32 bits.
  std::uint32_t now_ms() { return static_cast<std::uint32_t>(xTaskGetTickCount() * portTICK_PERIOD_MS); }

 private:
  static_assert(configTICK_RATE_HZ <= 1000,
                "ticks shorter than a millisecond: copy this port, and count them");
  static_assert(sizeof(TickType_t) >= 4, "the time wraps too early in 16 bits");

  static bool in_interrupt() {
#ifdef ESP_PLATFORM
    return xPortInIsrContext() != pdFALSE;
#else
    return xPortIsInsideInterrupt() != pdFALSE;
#endif
  }

  /// Not 0, for which FreeRTOS returns at once, so that a task of lower priority would never run; and without
  /// the product of pdMS_TO_TICKS, which wraps.
  static TickType_t ticks_of(std::uint32_t ms) {
    const std::uint32_t ticks = ms / portTICK_PERIOD_MS;
    return ticks == 0 ? 1 : ticks;
  }

  std::atomic<TaskHandle_t> task_{nullptr};
};

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::freertos
