#pragma once
#include <cstring>

#include "platform/flashlog/device.hpp"

namespace firmware {

/// Plain memory that behaves as NOR flash: an erase sets bits, a program only clears them. For RAM that
/// survives a reset, and for emulated boards whose memory is a file.
class MemoryNor {
 public:
  explicit MemoryNor(std::byte* memory) : memory_(memory) {}

  opdump::flashlog::Device device(std::uint32_t block_bytes, std::uint32_t block_count) {
    block_bytes_ = block_bytes;
    return {.geometry = {.block_bytes = block_bytes,
                         .block_count = block_count,
                         .program_bytes = 4,
                         .bits_only_clear = true},
            .context = this,
            .read = read,
            .program = program,
            .erase = erase,
            .sync = sync};
  }

 private:
  std::byte* at(std::uint32_t block, std::uint32_t offset) const {
    return memory_ + std::size_t{block} * block_bytes_ + offset;
  }

  static opdump::Status read(void* self, std::uint32_t block, std::uint32_t offset, opdump::MutableBytes to) {
    std::memcpy(to.data(), static_cast<MemoryNor*>(self)->at(block, offset), to.size());
    return opdump::Status::ok;
  }

  static opdump::Status program(void* self, std::uint32_t block, std::uint32_t offset, opdump::Bytes from) {
    volatile std::byte* to = static_cast<MemoryNor*>(self)->at(block, offset);
    for (std::size_t i = 0; i < from.size(); ++i) to[i] = to[i] & from[i];
    return opdump::Status::ok;
  }

  static opdump::Status erase(void* self, std::uint32_t block) {
    const MemoryNor& nor = *static_cast<MemoryNor*>(self);
    std::memset(nor.at(block, 0), 0xff, nor.block_bytes_);
    return opdump::Status::ok;
  }

  static opdump::Status sync(void*) { return opdump::Status::ok; }

  std::byte* memory_;
  std::uint32_t block_bytes_ = 0;
};

}  // namespace firmware
