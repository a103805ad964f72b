#pragma once
#include <atomic>
#include <cstdint>

#include "opdump/status.hpp"

namespace opdump {
inline namespace OPDUMP_NAMESPACE {

/// A count that one context adds to and any may read. Without read-modify-write, so it works on a Cortex-M0.
class Count {
 public:
  void add_one() { value_.store(value() + 1, std::memory_order_relaxed); }
  std::uint32_t value() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<std::uint32_t> value_{0};
};

/// What became of the records that a session's config wanted. All counts wrap at 32 bits. Once the rings are
/// drained: wanted = empty + invalid + ring_full + timed_out + too_large + device_failed + captured
/// + degraded, and captured + degraded = written + sink_failed.
struct DumpCounts {
  std::uint32_t wanted = 0;
  std::uint32_t captured = 0;  ///< whole in a ring
  std::uint32_t degraded = 0;  ///< reduced in a ring
  std::uint32_t empty = 0;     ///< no tensor had a byte: CANN writes no file for such an operator
  std::uint32_t invalid =
      0;  ///< refused: a tensor shorter than its shape, or names or ranks beyond the limits
  std::uint32_t ring_full = 0;      ///< lost: no room, and the policy was not to wait
  std::uint32_t timed_out = 0;      ///< lost: no room within the limit
  std::uint32_t too_large = 0;      ///< lost: the head does not fit the ring
  std::uint32_t device_failed = 0;  ///< lost: a copy from device memory failed
  std::uint32_t written = 0;        ///< committed to the sink
  std::uint32_t sink_failed = 0;    ///< lost: the sink refused or failed

  std::uint32_t lost() const {
    return invalid + ring_full + timed_out + too_large + device_failed + sink_failed;
  }
};

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump
