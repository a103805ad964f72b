#pragma once
#include <atomic>
#include <cstdint>

#include "opdump/knobs.hpp"

namespace opdump {
inline namespace OPDUMP_NAMESPACE {

/// What a driver said when a call of it failed.
struct DriverError {
  const char* call = nullptr;  ///< name of the driver's function; null: nothing has failed
  std::int32_t code = 0;       ///< as the driver returned it
};

/// Keeps the latest error of a driver. Any thread or interrupt may set it and any may ask.
class LatestDriverError {
 public:
  /// `calls` are the names that `set` refers to; at most 256, of static lifetime.
  constexpr explicit LatestDriverError(const char* const* calls) : calls_(calls) {}

  /// `code` is kept to 24 bits with its sign.
  void set(std::uint8_t call, std::int32_t code) {
    packed_.store(static_cast<std::uint32_t>(code) << 8 | call, std::memory_order_relaxed);
  }

  DriverError get() const {
    const std::uint32_t packed = packed_.load(std::memory_order_relaxed);
    const std::int32_t code = static_cast<std::int32_t>(packed) >> 8;
    return code == 0 ? DriverError{} : DriverError{calls_[packed & 0xff], code};
  }

 private:
  const char* const* calls_;
  // In one word, so that name and code are always of the same call.
  std::atomic<std::uint32_t> packed_{0};
};

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump
