#pragma once
#include <array>
#include <cstddef>
#include <cstdint>

#include "opdump/base/build.hpp"
#include "opdump/opdump.h"
#include "opdump/port/device_memory.hpp"
#include "opdump/port/plain_memory.hpp"

namespace opdump::c_api {
inline namespace OPDUMP_NAMESPACE {

/// The numbers that are a status, those that have a text, as bits. A device need not have the texts.
inline constexpr auto kStatusSet = [] {
  constexpr auto is_status = [](unsigned value) {
    return status_text(static_cast<Status>(value)) != status_text(static_cast<Status>(0xff));
  };
  constexpr unsigned kEnd = [is_status] {
    unsigned end = 0xff;
    while (!is_status(end - 1)) --end;
    return end;
  }();
  std::array<std::uint8_t, (kEnd + 7) / 8> set{};
  for (unsigned value = 0; value < kEnd; ++value) {
    if (is_status(value)) set[value / 8] = static_cast<std::uint8_t>(set[value / 8] | 1u << (value % 8));
  }
  return set;
}();

/// `otherwise` for a number that is no status.
OPDUMP_APART_IF_LEAN constexpr Status from_c(opdump_status status, Status otherwise) {
  const std::uint32_t value = static_cast<std::uint32_t>(status);
  const bool known = value < 8 * kStatusSet.size() && (kStatusSet[value / 8] >> (value % 8) & 1) != 0;
  return known ? static_cast<Status>(status) : otherwise;
}

/// What a memory can do besides what `opdump_memory` has; null: not that. `context` is the port's.
struct MemoryAbilities {
  Bytes (*view)(void* context, Address from, std::uint64_t bytes) = nullptr;
  Result<bool> (*overflowed)(void* context, std::uint32_t stream_id) = nullptr;
  std::uint32_t (*device_id)(void* context) = nullptr;
  DriverError (*driver_error)(void* context) = nullptr;
};

/// The port's memory; without a function, plain memory. `kInBackground`: copies as AsyncMemory where the port does.
template <bool kInBackground>
class PortMemoryOf final : public DeviceMemory {
 public:
  /// `more` may be null, and is referred to; a small build has none.
  explicit PortMemoryOf(const opdump_memory& port, [[maybe_unused]] const MemoryAbilities* more = nullptr) {
    copy_object(port_, port);
    if constexpr (!build::kLean) more_ = more;
  }

  [[nodiscard]] Status copy(std::byte* to, Address from, std::size_t bytes) override {
    if (port_.copy == nullptr) return copy_plain(to, from, bytes);
    return from_c(port_.copy(port_.context, to, from, bytes), Status::device_copy_failed);
  }

  Bytes view(Address from, std::uint64_t bytes) const {
    if constexpr (!build::kLean) {
      if (more_ != nullptr) return more_->view == nullptr ? Bytes() : more_->view(port_.context, from, bytes);
    }
    return port_.copy == nullptr ? view_plain(from, bytes) : Bytes();
  }

  /// `not_supported` unless the abilities have it; those of C's faults are a FaultMemory's.
  Result<bool> overflowed([[maybe_unused]] std::uint32_t stream_id) {
    if constexpr (!build::kLean) {
      if (more_ != nullptr && more_->overflowed != nullptr)
        return more_->overflowed(port_.context, stream_id);
    }
    return Status::not_supported;
  }

  /// No name unless the abilities tell.
  DriverError driver_error() const requires(!build::kLean) {
    if (more_ == nullptr || more_->driver_error == nullptr) return {};
    return more_->driver_error(port_.context);
  }

  using Copy = opdump_copy;
  static constexpr std::size_t kMaxCopies = 4;

  [[nodiscard]] Status start(Copy& copy, std::byte* to, Address from,
                             std::size_t bytes) requires kInBackground {
    if (port_.start == nullptr) return Status::not_supported;
    return from_c(port_.start(port_.context, &copy, to, from, bytes), Status::device_copy_failed);
  }

  [[nodiscard]] Result<bool> poll(Copy& copy) { return complete(copy, 0); }

  [[nodiscard]] Result<bool> complete(Copy& copy, std::uint32_t limit_ms) {
    int over = 0;
    const Status status =
        from_c(port_.complete(port_.context, &copy, limit_ms, &over), Status::device_copy_failed);
    if (status != Status::ok) return status;
    return over != 0;
  }

  [[nodiscard]] Status fence(std::uint32_t stream_id) {
    if (port_.fence == nullptr) return Status::ok;
    return from_c(port_.fence(port_.context, stream_id), Status::device_copy_failed);
  }

  void will_read(Address from, std::uint64_t bytes) {
    if (port_.will_read != nullptr) port_.will_read(port_.context, from, bytes);
  }

  CopyRules copy_rules() const {
    return {.alignment = port_.alignment == 0 ? 1 : port_.alignment,
            .whole_units = port_.whole_units != 0,
            .max_bytes = port_.max_bytes == 0 ? UINT32_MAX : port_.max_bytes};
  }

 private:
  opdump_memory port_;
  [[no_unique_address]] Maybe<!build::kLean, const MemoryAbilities*> more_{};
};

/// A lean build leaves out what is only faster.
using PortMemory = PortMemoryOf<!build::kLean>;

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::c_api
