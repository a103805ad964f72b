#pragma once
// Where the tensors lie.

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "opdump/port/device_memory.hpp"

class PortMemory final : public opdump::DeviceMemory {
 public:
  [[nodiscard]] opdump::Status copy(std::byte* to, opdump::Address from, std::size_t bytes) override {
    // FILL IN 1: copy `bytes` bytes from the device's address `from` to `to`, and return when they are there.
    // Status::device_copy_failed if not every byte arrived. This reads what the processor itself can read.
    if (from == 0) return opdump::Status::device_copy_failed;
    std::memcpy(to, reinterpret_cast<const void*>(static_cast<std::uintptr_t>(from)), bytes);
    return opdump::Status::ok;
    // End of 1.
  }
};
