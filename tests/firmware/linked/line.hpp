#pragma once
// A serial line of a CMSDK system, as the MPS2 boards have it, polled, and the sink over it.

#include <cstddef>
#include <cstdint>

#include "platform/wire/wire_sink.hpp"

namespace firmware {

class Uart {
 public:
  void write(opdump::Bytes from) {
    at(kControl) = 3;  // both directions
    for (const std::byte byte : from) {
      while ((at(kState) & 1) != 0) {
      }
      at(kData) = std::to_integer<std::uint32_t>(byte);
    }
  }
  std::size_t read(opdump::MutableBytes to) {
    std::size_t count = 0;
    for (; count < to.size() && (at(kState) & 2) != 0; ++count) to[count] = static_cast<std::byte>(at(kData));
    return count;
  }

 private:
  static constexpr std::uintptr_t kData = 0, kState = 4, kControl = 8;
  static volatile std::uint32_t& at(std::uintptr_t offset) {
    return *reinterpret_cast<volatile std::uint32_t*>(0x40004000 + offset);
  }
};

Uart uart;
std::byte window[4096];
opdump::wire::WireSink<Uart> line_sink(uart, window, 1);

}  // namespace firmware
