#pragma once
#include "platform/baremetal/tick_clock.hpp"
#include "platform/freertos/kernel.hpp"

namespace opdump::freertos {
inline namespace OPDUMP_NAMESPACE {

/// A clock that counts FreeRTOS's ticks: `vApplicationTickHook` calls its `tick()`. Any task or interrupt may
/// read it. Not for tickless idle, which skips ticks.
class TickClock final : public baremetal::TickClock {
 public:
  /// `start_us` is the time at boot in microseconds since 1970, 0 without a calendar clock.
  explicit TickClock(std::uint64_t start_us = 0)
      : baremetal::TickClock(1'000'000 / configTICK_RATE_HZ, start_us) {}

  /// Sleeps for a tick, so that a drain task of lower priority makes room.
  void pause() override { vTaskDelay(1); }
};

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::freertos
