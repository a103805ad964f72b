#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "opdump/base/bytes.hpp"
#include "opdump/port/device_memory.hpp"

namespace opdump {
inline namespace OPDUMP_NAMESPACE {

/// Tensors in memory that the CPU may read: for plain host runs, and for devices that share the CPU's memory.
class HostMemory final : public DeviceMemory {
 public:
  /// `from` is a result of `address_of`. `device_copy_failed` for a null address with bytes to copy.
  [[nodiscard]] Status copy(std::byte* to, Address from, std::size_t bytes) override {
    if (bytes == 0) return Status::ok;
    if (from == 0) return Status::device_copy_failed;
    std::memcpy(to, reinterpret_cast<const void*>(static_cast<std::uintptr_t>(from)), bytes);
    return Status::ok;
  }

  /// The same bytes in place; empty for a null address.
  Bytes view(Address from, std::uint64_t bytes) const {
    if (from == 0) return {};
    return {reinterpret_cast<const std::byte*>(static_cast<std::uintptr_t>(from)),
            static_cast<std::size_t>(bytes)};
  }
};

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump
