#pragma once
#include <cstddef>
#include <cstdint>

#include "opdump/base/bytes.hpp"
#include "opdump/port/device_memory.hpp"
#include "platform/host/host_memory.hpp"

namespace opdump {
inline namespace OPDUMP_NAMESPACE {

/// Tensors in RAM that the CPU reads through a data cache, and that an accelerator writes past it: a Cortex-M7
/// or M55 with its cache on, to copy. Before a record's bytes are read, their lines are invalidated. `Cache`
/// is the port, such as CMSIS's SCB_InvalidateDCache_by_Addr:
///
///     struct Cache {
///       static constexpr std::uint32_t kLineBytes = 32;
///       // Drops what the cache holds of whole lines; returns when it is done.
///       void invalidate(std::uintptr_t from, std::size_t bytes);
///     };
///
/// A tensor that a device writes must have its lines to itself: begin at a multiple of kLineBytes and be padded
/// to one. What the CPU has written next to it in a shared line would be lost. Threads: as `Cache`.
template <class Cache>
class CachedHostMemory final : public DeviceMemory {
 public:
  explicit CachedHostMemory(Cache& cache) : cache_(cache) {}

  void will_read(Address from, std::uint64_t bytes) {
    constexpr std::uintptr_t kInLine = Cache::kLineBytes - 1;
    const std::uintptr_t begin = static_cast<std::uintptr_t>(from) & ~kInLine;
    const std::uintptr_t end = (static_cast<std::uintptr_t>(from + bytes) + kInLine) & ~kInLine;
    cache_.invalidate(begin, end - begin);
  }

  [[nodiscard]] Status copy(std::byte* to, Address from, std::size_t bytes) override {
    return memory_.copy(to, from, bytes);
  }

  Bytes view(Address from, std::uint64_t bytes) const { return memory_.view(from, bytes); }

 private:
  Cache& cache_;
  HostMemory memory_;
};

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump
