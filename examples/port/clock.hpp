#pragma once
// What time it is.

#include <chrono>
#include <cstdint>

#include "opdump/base/divide.hpp"
#include "opdump/port/clock.hpp"

class PortClock final : public opdump::Clock {
 public:
  std::uint64_t unix_us() override {
    // FILL IN 3: microseconds since 1970, or since boot where there is no calendar. They must never go back.
    // This asks the system.
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::microseconds>(now).count());
    // End of 3.
  }

  std::int32_t utc_offset_seconds() override { return 0; }

  std::uint32_t monotonic_ms() override {
    std::uint64_t time = unix_us();
    opdump::divide(time, 1000);
    return static_cast<std::uint32_t>(time);
  }

  void pause() override {}
};
