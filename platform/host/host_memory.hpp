#pragma once
#include <cstddef>
#include <cstdint>

#include "opdump/base/bytes.hpp"
#include "opdump/port/device_memory.hpp"
#include "opdump/port/plain_memory.hpp"

namespace opdump {
inline namespace OPDUMP_NAMESPACE {

/// Tensors in memory that the CPU may read: for plain host runs, and for devices that share the CPU's memory.
class HostMemory final : public DeviceMemory {
 public:
  /// As `copy_plain`.
  [[nodiscard]] Status copy(std::byte* to, Address from, std::size_t bytes) override {
    return copy_plain(to, from, bytes);
  }

  /// As `view_plain`.
  Bytes view(Address from, std::uint64_t bytes) const { return view_plain(from, bytes); }
};

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump
