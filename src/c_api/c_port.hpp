#pragma once
#include <cstddef>
#include <cstring>
#include <span>
#include <string_view>

#include "opdump/base/cpu.hpp"
#include "opdump/impl/c_api/port_memory.hpp"
#include "opdump/opdump.h"
#include "opdump/port/clock.hpp"
#include "opdump/session.hpp"
#include "src/c_api/c_layout.hpp"

namespace opdump::c_api {
inline namespace OPDUMP_NAMESPACE {

/// What a C program says, in C++.

constexpr opdump_status to_c(Status status) {
  return static_cast<opdump_status>(status);
}

inline opdump_counts to_c(const DumpCounts& from) {
  return {.wanted = from.wanted,
          .captured = from.captured,
          .degraded = from.degraded,
          .empty = from.empty,
          .invalid = from.invalid,
          .ring_full = from.ring_full,
          .timed_out = from.timed_out,
          .too_large = from.too_large,
          .device_failed = from.device_failed,
          .written = from.written,
          .sink_failed = from.sink_failed,
          .quota = from.quota,
          .lost = from.lost(),
          .dropped = from.dropped(),
          .aborted = from.aborted()};
}

/// Of the type that a conditional expression wants: on some machines int32_t is no int.
inline constexpr opdump_status kInvalidArgument = OPDUMP_ERR_INVALID_ARGUMENT;

/// `name_bytes` of an option struct.
constexpr std::size_t name_room(std::uint32_t name_bytes) {
  return name_bytes == 0 ? 128 : name_bytes;
}

/// Makes `to` the text; false, with `to` unchanged, when there is none.
bool take_text(const char* text, std::string_view& to);

/// No struct of opdump.h will ever have more: a larger size is none, and the bytes there are nobody's.
inline constexpr std::size_t kMostStructBytes = OPDUMP_MAX_STRUCT_BYTES;

/// `take_struct` of any struct, whose `kFieldEnds` are `ends`.
[[gnu::noinline]] inline Status take_prefix(const void* from, void* to, const std::uint8_t* ends) {
  const std::size_t own_bytes = *ends;
  std::memset(to, 0, own_bytes);
  if (from == nullptr) return Status::invalid_argument;
  std::size_t bytes;
  std::memcpy(&bytes, from, sizeof bytes);
  if (bytes < sizeof bytes || bytes > kMostStructBytes) return Status::invalid_argument;
  std::memcpy(to, from, whole_bytes(ends, bytes));
  std::memcpy(to, &own_bytes, sizeof own_bytes);
  const unsigned char* const raw = static_cast<const unsigned char*>(from);
  for (std::size_t i = own_bytes; i < bytes; ++i) {
    if (raw[i] != 0) return Status::not_supported;
  }
  return Status::ok;
}

/// Copies the fields of a struct that begins with `struct_bytes` that the caller knows; the rest becomes
/// zero. `invalid_argument` for null or a size that cannot be; `not_supported` when the caller knows fields
/// that this library does not, and sets them.
template <class Struct>
Status take_struct(const Struct* from, Struct& to) {
  return take_prefix(from, &to, kFieldEnds<Struct>.data());
}

/// Fills the caller's `bytes` bytes with the fields that it knows of the struct, and the rest of them with
/// zeros. `invalid_argument` for a size that cannot be: nothing is written.
template <class Struct>
Status give_struct(const Struct& from, void* to, std::size_t bytes) {
  if (bytes > kMostStructBytes) return Status::invalid_argument;
  std::memset(to, 0, bytes);
  std::memcpy(to, &from, whole_bytes(kFieldEnds<Struct>.data(), bytes));
  return Status::ok;
}

/// Asks the function of that name in `options`, if there is one.
template <class Options>
Result<bool> ask_overflowed(const Options& options, std::uint32_t stream_id) {
  if (options.overflowed == nullptr) return Status::not_supported;
  int over = 0;
  const Status status =
      from_c(options.overflowed(options.context, stream_id, &over), Status::device_copy_failed);
  if (status != Status::ok) return status;
  return over != 0;
}

using PortSession = BasicSession<PortMemory>;
using PortRecorder = PortSession::Recorder;

class PortClock final : public Clock {
 public:
  explicit PortClock(const opdump_clock& port) { copy_object(port_, port); }

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

/// The port's memory as it is copied: null is plain memory; `invalid_argument` for a struct without `copy`,
/// with `start` and no `complete`, or with rules that cannot be kept.
inline Status take_memory(const opdump_memory* from, opdump_memory& to) {
  if (from == nullptr) {
    to = {};
    return Status::ok;
  }
  const Status status = take_struct(from, to);
  if (status != Status::ok) return status;
  constexpr std::uint32_t kLeastMaxBytes = 16;
  constexpr std::uint32_t kMostAlignment = 64;
  const bool power_of_two = (to.alignment & (to.alignment - 1)) == 0;
  if (to.copy == nullptr || (to.start != nullptr && to.complete == nullptr) || !power_of_two ||
      to.alignment > kMostAlignment || to.whole_units > 1)
    return Status::invalid_argument;
  if (to.max_bytes != 0 && (to.max_bytes < kLeastMaxBytes || to.max_bytes < to.alignment))
    return Status::invalid_argument;
  return Status::ok;
}

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::c_api
