#pragma once
#include <cstddef>
#include <cstdint>

#include "opdump/tensor.hpp"

namespace opdump {
inline namespace OPDUMP_NAMESPACE {

/// Memory that tensors live in, as a platform supplies it. A recorder is a template over it: a final class
/// (such as `HostMemory`) is called directly, this base class virtually.
class DeviceMemory {
 public:
  /// Copies `bytes` bytes, whose elements are in this machine's byte order, from `from` to `to`, which lies
  /// in a ring, and returns when they are there. Must not allocate and must not block beyond the copy.
  /// `device_copy_failed`, or a more exact status, when not every byte arrived; what `to` then holds is
  /// ignored. Called on the recorder's thread or interrupt.
  [[nodiscard]] virtual Status copy(std::byte* to, Address from, std::size_t bytes) = 0;

 protected:
  ~DeviceMemory() = default;
};

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump
