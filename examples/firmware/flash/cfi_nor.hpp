#pragma once
#include <cstring>

#include "platform/flashlog/device.hpp"

namespace firmware {

/// Two 16-bit parts with the Intel command set (CFI 0001) side by side on a 32-bit bus, as on QEMU's `virt`:
/// each command goes to both halves of the word.
class CfiNor {
 public:
  static constexpr std::uint32_t kBlockBytes = 256 * 1024;
  static constexpr std::uint32_t kBufferBytes = 4096;  ///< of the write buffer; a program stays inside one

  explicit CfiNor(std::uintptr_t address) : base_(address) {}

  opdump::flashlog::Device device(std::uint32_t block_count) {
    return {.geometry = {.block_bytes = kBlockBytes, .block_count = block_count, .program_bytes = 4},
            .context = this,
            .read = read,
            .program = program,
            .erase = erase,
            .sync = sync};
  }

 private:
  using Word = volatile std::uint32_t;
  static constexpr std::uint32_t kBoth = 0x00010001;
  static constexpr std::uint32_t kReadArray = 0xff * kBoth;
  static constexpr std::uint32_t kClearStatus = 0x50 * kBoth;
  static constexpr std::uint32_t kErase = 0x20 * kBoth;
  static constexpr std::uint32_t kBuffer = 0xe8 * kBoth;
  static constexpr std::uint32_t kConfirm = 0xd0 * kBoth;
  static constexpr std::uint32_t kReady = 0x80 * kBoth;
  static constexpr std::uint32_t kFailed = 0x3a * kBoth;  ///< erase, program, voltage, protection

  Word* at(std::uint32_t block, std::uint32_t offset) const {
    return reinterpret_cast<Word*>(base_ + block * kBlockBytes + offset);
  }

  /// Waits for both parts and goes back to reading the array.
  static opdump::Status finish(Word* place) {
    std::uint32_t status = 0;
    do status = *place;
    while ((status & kReady) != kReady);
    *place = kClearStatus;
    *place = kReadArray;
    return (status & kFailed) == 0 ? opdump::Status::ok : opdump::Status::io_error;
  }

  static opdump::Status read(void* self, std::uint32_t block, std::uint32_t offset, opdump::MutableBytes to) {
    const std::uintptr_t from = static_cast<CfiNor*>(self)->base_ + block * kBlockBytes + offset;
    for (std::size_t i = 0; i < to.size(); ++i)
      to[i] = *reinterpret_cast<volatile const std::byte*>(from + i);
    return opdump::Status::ok;
  }

  static opdump::Status program(void* self, std::uint32_t block, std::uint32_t offset, opdump::Bytes from) {
    const CfiNor& nor = *static_cast<CfiNor*>(self);
    while (!from.empty()) {
      const std::uint32_t room = kBufferBytes - offset % kBufferBytes;
      const std::size_t bytes = from.size() < room ? from.size() : room;
      Word* const place = nor.at(block, offset);
      *place = kBuffer;
      while ((*place & kReady) != kReady) {
      }
      const std::uint32_t words = static_cast<std::uint32_t>(bytes / sizeof(std::uint32_t));
      *place = (words - 1) * kBoth;
      for (std::uint32_t i = 0; i < words; ++i) {
        std::uint32_t word;
        std::memcpy(&word, from.data() + i * sizeof word, sizeof word);
        place[i] = word;
      }
      *place = kConfirm;
      if (const opdump::Status status = finish(place); status != opdump::Status::ok) return status;
      from = from.subspan(bytes);
      offset += static_cast<std::uint32_t>(bytes);
    }
    return opdump::Status::ok;
  }

  static opdump::Status erase(void* self, std::uint32_t block) {
    Word* const place = static_cast<CfiNor*>(self)->at(block, 0);
    *place = kErase;
    *place = kConfirm;
    return finish(place);
  }

  static opdump::Status sync(void*) { return opdump::Status::ok; }

  std::uintptr_t base_;
};

}  // namespace firmware
