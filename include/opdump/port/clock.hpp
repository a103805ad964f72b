#pragma once
#include <cstdint>

#include "opdump/base/status.hpp"

namespace opdump {
inline namespace OPDUMP_NAMESPACE {

/// Time, as a platform supplies it.
class Clock {
 public:
  /// Microseconds since 1970-01-01 UTC; without a calendar clock, any microsecond count that grows. Recorders
  /// call it once per record, on their thread or interrupt.
  virtual std::uint64_t unix_us() = 0;

  /// Seconds to add to UTC for local time, which names the dump's directory.
  virtual std::int32_t utc_offset_seconds() = 0;

  /// Milliseconds that only grow, wrapping at 32 bits. They limit how long a recorder waits for room.
  virtual std::uint32_t monotonic_ms() = 0;

  /// Gives way for a moment (some tens of microseconds) while a recorder waits for room in its ring. Never
  /// called under `WhenFull::drop`.
  virtual void pause() = 0;

 protected:
  ~Clock() = default;
};

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump
