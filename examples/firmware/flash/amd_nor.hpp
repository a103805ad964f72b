#pragma once
#include "platform/flashlog/device.hpp"

namespace firmware {

/// An 8-bit part with the AMD command set (CFI 0002), as on the Zynq's parallel bus.
class AmdNor {
 public:
  static constexpr std::uint32_t kBlockBytes = 128 * 1024;

  explicit AmdNor(std::uintptr_t address) : base_(reinterpret_cast<volatile std::uint8_t*>(address)) {}

  opdump::flashlog::Device device(std::uint32_t block_count) {
    return {.geometry = {.block_bytes = kBlockBytes,
                         .block_count = block_count,
                         .program_bytes = 1,
                         .bits_only_clear = true},
            .context = this,
            .read = read,
            .program = program,
            .erase = erase,
            .sync = sync};
  }

 private:
  static constexpr std::uint8_t kProgram = 0xa0;
  static constexpr std::uint8_t kEraseSetup = 0x80;
  static constexpr std::uint8_t kEraseSector = 0x30;
  static constexpr std::uint8_t kReset = 0xf0;
  static constexpr std::uint8_t kToggle = 0x40;
  static constexpr std::uint8_t kTimeout = 0x20;

  void unlock() {
    base_[0x555] = 0xaa;
    base_[0x2aa] = 0x55;
  }

  void command(std::uint8_t code) {
    unlock();
    base_[0x555] = code;
  }

  /// A bit of the status toggles while the part is at work.
  opdump::Status finish(volatile std::uint8_t* place, std::uint8_t expected) {
    for (;;) {
      const std::uint8_t first = *place;
      const std::uint8_t second = *place;
      if (((first ^ second) & kToggle) == 0) break;
      if ((second & kTimeout) == 0) continue;
      if (((*place ^ *place) & kToggle) == 0) break;
      *base_ = kReset;
      return opdump::Status::io_error;
    }
    return *place == expected ? opdump::Status::ok : opdump::Status::io_error;
  }

  static opdump::Status read(void* self, std::uint32_t block, std::uint32_t offset, opdump::MutableBytes to) {
    const volatile std::uint8_t* from = static_cast<AmdNor*>(self)->base_ + block * kBlockBytes + offset;
    for (std::size_t i = 0; i < to.size(); ++i) to[i] = static_cast<std::byte>(from[i]);
    return opdump::Status::ok;
  }

  static opdump::Status program(void* self, std::uint32_t block, std::uint32_t offset, opdump::Bytes from) {
    AmdNor& nor = *static_cast<AmdNor*>(self);
    volatile std::uint8_t* to = nor.base_ + block * kBlockBytes + offset;
    for (const std::byte byte : from) {
      const std::uint8_t value = std::to_integer<std::uint8_t>(byte);
      nor.command(kProgram);
      *to = value;
      if (const opdump::Status status = nor.finish(to, value); status != opdump::Status::ok) return status;
      ++to;
    }
    return opdump::Status::ok;
  }

  static opdump::Status erase(void* self, std::uint32_t block) {
    AmdNor& nor = *static_cast<AmdNor*>(self);
    volatile std::uint8_t* const sector = nor.base_ + block * kBlockBytes;
    nor.command(kEraseSetup);
    nor.unlock();
    *sector = kEraseSector;
    return nor.finish(sector, 0xff);
  }

  static opdump::Status sync(void*) { return opdump::Status::ok; }

  volatile std::uint8_t* base_;
};

}  // namespace firmware
