#pragma once
#include "esp_timer.h"
#include "opdump/base/divide.hpp"
#include "opdump/port/clock.hpp"
#include "platform/freertos/kernel.hpp"

namespace opdump::esp_idf {
inline namespace OPDUMP_NAMESPACE {

/// The microseconds of esp_timer as a clock. Any task or interrupt may read it.
class TimerClock final : public Clock {
 public:
  /// `start_us` is the time at boot in microseconds since 1970, 0 without a calendar clock.
  explicit TimerClock(std::uint64_t start_us = 0) : start_us_(start_us) {}

  std::uint64_t unix_us() override { return start_us_ + since_boot(); }
  std::int32_t utc_offset_seconds() override { return 0; }
  std::uint32_t monotonic_ms() override {
    std::uint64_t time = since_boot();
    divide(time, 1000);
    return static_cast<std::uint32_t>(time);
  }

  /// Sleeps for a tick, so that a drain task of lower priority makes room.
  void pause() override { vTaskDelay(1); }

 private:
  static std::uint64_t since_boot() { return static_cast<std::uint64_t>(esp_timer_get_time()); }

  const std::uint64_t start_us_;
};

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::esp_idf
