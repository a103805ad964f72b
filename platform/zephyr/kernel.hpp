#pragma once
#include <zephyr/kernel.h>

#include <cstdint>

#include "opdump/knobs.hpp"

namespace opdump::zephyr {
inline namespace OPDUMP_NAMESPACE {

/// Zephyr as a DrainTask wants it ([drain_task.hpp](../template/drain_task.hpp)).
class Kernel {
 public:
  Kernel() { k_sem_init(&notified_, 0, 1); }
  Kernel(const Kernel&) = delete;
  Kernel& operator=(const Kernel&) = delete;

  /// Makes a `wait` that is under way, or the next one, return. From any thread or interrupt.
  void notify() { k_sem_give(&notified_); }

  /// Sleeps until notified or for `ms`, one tick at least. On the drain thread.
  void wait(std::uint32_t ms) { static_cast<void>(k_sem_take(&notified_, K_MSEC(ms == 0 ? 1 : ms))); }

  /// Lets threads of lower priority run for about `ms`.
  void sleep(std::uint32_t ms) { k_sleep(K_MSEC(ms == 0 ? 1 : ms)); }

  /// Milliseconds that only grow, wrapping at 32 bits.
  std::uint32_t now_ms() { return k_uptime_get_32(); }

 private:
  struct k_sem notified_;
};

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::zephyr
