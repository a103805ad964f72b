#pragma once
#include <cstdint>

#include "opdump/base/cpu.hpp"

namespace opdump {
inline namespace OPDUMP_NAMESPACE {

/// Which of two ways of copying to a ring is the faster one while the drainer is behind. Between cores that share a
/// cache a plain copy is, by half; where they share none, a copy past the caches may be, five times. So now and then
/// the other way is tried, and the time per byte, with the wait for room, decides. Belongs to the recorder's context.
class CopyWay {
 public:
  /// Whether the next bytes go past the caches. Only while the drainer is behind.
  bool passes_caches() {
    asked_ = true;
    return passes_;
  }

  /// Before the bytes of a record.
  void begin() {
    asked_ = false;
    start_ = read_ticks();
  }

  /// After its `bytes` bytes, which went through a ring of `ring_bytes`.
  void end(std::uint64_t bytes, std::uint32_t ring_bytes) {
    if (asked_) add(read_ticks() - start_, bytes, ring_bytes);
  }

  /// The same of a record that took `ticks`, with the drainer behind.
  void add(std::uint64_t ticks, std::uint64_t bytes, std::uint32_t ring_bytes) {
    ticks_ += ticks;
    bytes_ += bytes;
    // What lies in the ring has gone the way before.
    if (bytes_ < std::uint64_t{ring_bytes} * kRings) return;
    cost_[passes_] = ticks_ * 1024 / bytes_;
    ticks_ = bytes_ = 0;
    if (tries_) {
      tries_ = false;
      passes_ = cost_[1] < cost_[0];
    } else if (--left_ == 0) {
      left_ = kStays;
      tries_ = true;
      passes_ = !passes_;
    }
  }

 private:
  static constexpr std::uint32_t kRings = 16;  ///< in each of the times that are compared
  static constexpr std::uint8_t kStays = 64;   ///< times in one way before the other is tried

  std::uint64_t start_ = 0;
  std::uint64_t ticks_ = 0;
  std::uint64_t bytes_ = 0;
  std::uint64_t cost_[2] = {};
  std::uint8_t left_ = 1;
  bool asked_ = false;
  bool passes_ = false;
  bool tries_ = false;
};

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump
