#pragma once
#include <concepts>
#include <cstddef>
#include <cstdint>

#include "opdump/base/bytes.hpp"

namespace opdump::wire {
inline namespace OPDUMP_NAMESPACE {

/// Calls of a USB stack, a driver or a channel that take what they have room for. `put` and `get` never wait, and
/// return how many bytes they took or gave. `wait` is called when `put` took nothing: it lets the stack work, as by
/// its task function or a tick of sleep, and is true while the port should go on trying; false drops the rest.
template <class T>
concept PieceCalls = requires(T& calls, const std::byte* from, std::byte* to, std::uint32_t bytes) {
  { calls.put(from, bytes) } -> std::convertible_to<std::uint32_t>;
  { calls.get(to, bytes) } -> std::convertible_to<std::uint32_t>;
  { calls.wait() } -> std::same_as<bool>;
};

/// The port of a wire over such calls. TinyUSB's, for USB-CDC:
///
///     struct CdcCalls {
///       std::uint32_t put(const std::byte* from, std::uint32_t bytes) {
///         const std::uint32_t taken = tud_cdc_write(from, bytes);
///         tud_cdc_write_flush();
///         return taken;
///       }
///       std::uint32_t get(std::byte* to, std::uint32_t bytes) { return tud_cdc_read(to, bytes); }
///       bool wait() { return tud_task(), tud_cdc_connected(); }
///     };
///     CdcCalls calls;
///     opdump::wire::PiecePort<CdcCalls> port(calls);
///
/// Not thread-safe: the calls come from where the sink is called.
template <PieceCalls Calls>
class PiecePort {
 public:
  /// `calls` stays as long as this lives.
  explicit PiecePort(Calls& calls) : calls_(calls) {}
  PiecePort(const PiecePort&) = delete;
  PiecePort& operator=(const PiecePort&) = delete;

  void write(Bytes from) {
    while (!from.empty()) {
      const std::uint32_t taken = calls_.put(from.data(), static_cast<std::uint32_t>(from.size()));
      if (taken == 0 && !calls_.wait()) return;
      from = from.subspan(taken);
    }
  }

  std::size_t read(MutableBytes to) { return calls_.get(to.data(), static_cast<std::uint32_t>(to.size())); }

 private:
  Calls& calls_;
};

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::wire
