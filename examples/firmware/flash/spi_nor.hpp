#pragma once
#include <initializer_list>

#include "platform/flashlog/device.hpp"

namespace firmware {

/// A serial NOR part (25-series) behind the SPI master of a SmartFusion2.
class SpiNor {
 public:
  static constexpr std::uint32_t kBlockBytes = 64 * 1024;
  static constexpr std::uint32_t kPageBytes = 256;  ///< a program stays inside one

  explicit SpiNor(std::uintptr_t address) : registers_(*reinterpret_cast<Registers*>(address)) {}

  opdump::flashlog::Device device(std::uint32_t block_count) {
    registers_.frame_bits = 8;
    registers_.slave_select = 1;
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
  struct Registers {
    volatile std::uint32_t control;
    volatile std::uint32_t frame_bits;
    volatile std::uint32_t status;
    volatile std::uint32_t clear;
    volatile std::uint32_t receive;
    volatile std::uint32_t send;
    volatile std::uint32_t clock;
    volatile std::uint32_t slave_select;
  };

  static constexpr std::uint32_t kEnable = 1;
  static constexpr std::uint32_t kMaster = 2;
  static constexpr std::uint32_t kFrameCountShift = 8;
  static constexpr std::uint32_t kSelectedThroughout = 1 << 26;  ///< and not frame by frame
  static constexpr std::uint32_t kReceiveEmpty = 1 << 6;
  static constexpr std::uint32_t kMaxFrames = 0xffff;

  static constexpr std::uint8_t kWriteEnable = 0x06;
  static constexpr std::uint8_t kReadStatus = 0x05;
  static constexpr std::uint8_t kRead = 0x03;
  static constexpr std::uint8_t kPageProgram = 0x02;
  static constexpr std::uint8_t kSectorErase = 0xd8;
  static constexpr std::uint8_t kBusy = 1;

  /// The part stays selected for this many frames.
  void select(std::size_t frames) {
    registers_.control =
        kEnable | kMaster | kSelectedThroughout | static_cast<std::uint32_t>(frames) << kFrameCountShift;
  }

  std::uint8_t exchange(std::uint8_t out) {
    registers_.send = out;
    while ((registers_.status & kReceiveEmpty) != 0) {
    }
    return static_cast<std::uint8_t>(registers_.receive);
  }

  void send(std::initializer_list<std::uint8_t> bytes) {
    for (const std::uint8_t byte : bytes) static_cast<void>(exchange(byte));
  }

  void address(std::uint8_t command, std::uint32_t at) {
    send({command, static_cast<std::uint8_t>(at >> 16), static_cast<std::uint8_t>(at >> 8),
          static_cast<std::uint8_t>(at)});
  }

  void enable_write() {
    select(1);
    send({kWriteEnable});
  }

  void wait() {
    std::uint8_t status = 0;
    do {
      select(2);
      send({kReadStatus});
      status = exchange(0);
    } while ((status & kBusy) != 0);
  }

  static opdump::Status read(void* self, std::uint32_t block, std::uint32_t offset, opdump::MutableBytes to) {
    SpiNor& nor = *static_cast<SpiNor*>(self);
    std::uint32_t from = block * kBlockBytes + offset;
    while (!to.empty()) {
      const std::size_t bytes = to.size() < kMaxFrames - 4 ? to.size() : kMaxFrames - 4;
      nor.select(4 + bytes);
      nor.address(kRead, from);
      for (std::size_t i = 0; i < bytes; ++i) to[i] = static_cast<std::byte>(nor.exchange(0));
      to = to.subspan(bytes);
      from += static_cast<std::uint32_t>(bytes);
    }
    return opdump::Status::ok;
  }

  static opdump::Status program(void* self, std::uint32_t block, std::uint32_t offset, opdump::Bytes from) {
    SpiNor& nor = *static_cast<SpiNor*>(self);
    std::uint32_t to = block * kBlockBytes + offset;
    while (!from.empty()) {
      const std::uint32_t room = kPageBytes - to % kPageBytes;
      const std::size_t bytes = from.size() < room ? from.size() : room;
      nor.enable_write();
      nor.select(4 + bytes);
      nor.address(kPageProgram, to);
      for (const std::byte byte : from.first(bytes)) nor.send({std::to_integer<std::uint8_t>(byte)});
      nor.wait();
      from = from.subspan(bytes);
      to += static_cast<std::uint32_t>(bytes);
    }
    return opdump::Status::ok;
  }

  static opdump::Status erase(void* self, std::uint32_t block) {
    SpiNor& nor = *static_cast<SpiNor*>(self);
    nor.enable_write();
    nor.select(4);
    nor.address(kSectorErase, block * kBlockBytes);
    nor.wait();
    return opdump::Status::ok;
  }

  static opdump::Status sync(void*) { return opdump::Status::ok; }

  Registers& registers_;
};

}  // namespace firmware
