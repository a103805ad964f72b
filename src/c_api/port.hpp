#pragma once
#include <cstddef>
#include <cstring>
#include <string_view>

#include "opdump/clock.hpp"
#include "opdump/device_memory.hpp"
#include "opdump/opdump.h"
#include "platform/host/host_memory.hpp"

namespace opdump::c_api {

/// What a C program says, in C++.

constexpr opdump_status to_c(Status status) {
  return static_cast<opdump_status>(status);
}

/// Of the type that a conditional expression wants: on some machines int32_t is no int.
inline constexpr opdump_status kInvalidArgument = OPDUMP_ERR_INVALID_ARGUMENT;

/// `otherwise` for a number that is no status.
constexpr Status from_c(opdump_status status, Status otherwise) {
  if (status == OPDUMP_OK) return Status::ok;
  constexpr std::string_view kUnknown = to_string(static_cast<Status>(0xff));
  const bool known = status > 0 && status < 0xff && to_string(static_cast<Status>(status)) != kUnknown;
  return known ? static_cast<Status>(status) : otherwise;
}

inline std::string_view text_of(const char* text) {
  return text == nullptr ? std::string_view{} : std::string_view(text);
}

/// Copies a struct that begins with `struct_bytes`, as far as the caller knows it; the rest becomes zero.
/// `invalid_argument` for null or a size that cannot be; `not_supported` when the caller knows fields that
/// this library does not, and sets them.
template <class Struct>
Status take_struct(const Struct* from, Struct& to) {
  std::memset(&to, 0, sizeof to);
  if (from == nullptr || from->struct_bytes < sizeof from->struct_bytes) return Status::invalid_argument;
  const std::size_t bytes = from->struct_bytes;
  std::memcpy(&to, from, bytes < sizeof to ? bytes : sizeof to);
  to.struct_bytes = sizeof to;
  const unsigned char* const raw = reinterpret_cast<const unsigned char*>(from);
  for (std::size_t i = sizeof to; i < bytes; ++i) {
    if (raw[i] != 0) return Status::not_supported;
  }
  return Status::ok;
}

/// The port's memory; without a function, plain memory.
class PortMemory final : public DeviceMemory {
 public:
  explicit PortMemory(const opdump_memory& port) : port_(port) {}

  [[nodiscard]] Status copy(std::byte* to, Address from, std::size_t bytes) override {
    if (port_.copy == nullptr) return HostMemory().copy(to, from, bytes);
    return from_c(port_.copy(port_.context, to, from, bytes), Status::device_copy_failed);
  }

 private:
  opdump_memory port_;
};

class PortClock final : public Clock {
 public:
  explicit PortClock(const opdump_clock& port) : port_(port) {}

  std::uint64_t unix_us() override { return port_.unix_us(port_.context); }
  std::int32_t utc_offset_seconds() override {
    return port_.utc_offset_seconds == nullptr ? 0 : port_.utc_offset_seconds(port_.context);
  }
  std::uint32_t monotonic_ms() override { return port_.monotonic_ms(port_.context); }
  void pause() override {
    if (port_.pause != nullptr) port_.pause(port_.context);
  }

 private:
  opdump_clock port_;
};

/// The port's memory as it is copied: null is plain memory; a struct without a function is refused.
inline Status take_memory(const opdump_memory* from, opdump_memory& to) {
  to = {};
  if (from == nullptr) return Status::ok;
  const Status status = take_struct(from, to);
  return status == Status::ok && to.copy == nullptr ? Status::invalid_argument : status;
}

}  // namespace opdump::c_api
