#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "opdump/base/bytes.hpp"

namespace opdump::wire {
inline namespace OPDUMP_NAMESPACE {

/// A ring of SEGGER's Real Time Transfer, as a debug probe reads and writes it in the device's memory. The
/// probe owns `read` of a ring to the host and `write` of one to the device. A ring is empty when both are
/// equal, and holds one byte less than it has.
struct RttRing {
  const char* name = nullptr;
  std::byte* buffer = nullptr;
  std::uint32_t bytes = 0;
  std::atomic<std::uint32_t> write{0};  ///< place where the next byte is put
  std::atomic<std::uint32_t> read{0};   ///< place where the next byte is taken
  std::uint32_t flags = 0;              ///< 0: what has no room is left out
};

/// What a probe searches RAM for: 16 bytes of id, how many rings there are in each direction, those to the
/// host and then those to the device. It has one of each.
struct RttControl {
  char id[16] = {};
  std::int32_t to_host = 1;
  std::int32_t to_device = 1;
  RttRing up;
  RttRing down;
};
static_assert(sizeof(std::atomic<std::uint32_t>) == 4 && sizeof(RttRing) == 2 * sizeof(void*) + 16);
static_assert(offsetof(RttControl, up) == 24);

/// The port of a wire over RTT, with a control block of its own: what a probe offers as a TCP server, OpenOCD with
/// `rtt server start PORT 0`, and J-Link with its RTT client at port 19021, `opdump receive localhost:PORT` reads. It
/// lies in memory that the probe reaches and no cache holds back. Firmware that has SEGGER's own code puts a
/// PiecePort over its SEGGER_RTT_WriteNoLock and SEGGER_RTT_Read instead: a probe takes the first control block.
///
/// `write` waits while `waits` says so; without it, or once that returns false, it drops what has no room, as
/// when no probe is there. Not thread-safe, and not for interrupts.
class RttPort {
 public:
  using Waits = bool (*)(void* context);

  /// Both buffers have 2 bytes at least, and are the port's as long as it lives.
  RttPort(std::span<std::byte> up, std::span<std::byte> down, Waits waits = nullptr, void* context = nullptr)
      : waits_(waits), context_(context) {
    use(control_.up, up);
    use(control_.down, down);
    // Last, and in pieces: so a probe finds no block that is half made, and no other place that reads so.
    std::atomic_signal_fence(std::memory_order_release);
    std::memcpy(control_.id + 7, "RTT", 3);
    std::memcpy(control_.id, "SEGGER", 6);
    std::atomic_thread_fence(std::memory_order_release);
    control_.id[6] = ' ';
  }
  RttPort(const RttPort&) = delete;
  RttPort& operator=(const RttPort&) = delete;

  void write(Bytes from) {
    RttRing& ring = control_.up;
    while (!from.empty()) {
      const std::uint32_t at = ring.write.load(std::memory_order_relaxed);
      const std::uint32_t read = ring.read.load(std::memory_order_acquire);
      // What a probe wrote is not trusted.
      if (read >= ring.bytes) return;
      const std::uint32_t end = read > at ? read - 1 : ring.bytes - (read == 0 ? 1 : 0);
      const std::uint32_t most = end - at;
      const auto now = static_cast<std::uint32_t>(from.size() < most ? from.size() : most);
      if (now == 0) {
        if (waits_ == nullptr || !waits_(context_)) return;
        continue;
      }
      std::memcpy(ring.buffer + at, from.data(), now);
      ring.write.store(at + now == ring.bytes ? 0 : at + now, std::memory_order_release);
      from = from.subspan(now);
    }
  }

  std::size_t read(MutableBytes to) {
    RttRing& ring = control_.down;
    std::size_t count = 0;
    std::uint32_t at = ring.read.load(std::memory_order_relaxed);
    const std::uint32_t end = ring.write.load(std::memory_order_acquire);
    if (end >= ring.bytes) return 0;
    for (; count < to.size() && at != end; ++count) {
      to[count] = ring.buffer[at];
      if (++at == ring.bytes) at = 0;
    }
    ring.read.store(at, std::memory_order_release);
    return count;
  }

  /// For a debugger that is told its address.
  RttControl& control() { return control_; }

 private:
  static void use(RttRing& ring, std::span<std::byte> buffer) {
    ring.name = "opdump";
    ring.buffer = buffer.data();
    ring.bytes = static_cast<std::uint32_t>(buffer.size());
  }

  RttControl control_;
  const Waits waits_;
  void* const context_;
};

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::wire
