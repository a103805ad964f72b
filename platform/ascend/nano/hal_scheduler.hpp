#pragma once
#include <cstddef>
#include <cstdint>

#include "platform/ascend/nano/event.hpp"

namespace opdump::nano {
inline namespace OPDUMP_NAMESPACE {

/// The two calls of a nano device's event scheduler, as the vendor's driver header declares them.
struct HalCalls {
  /// halEschedWaitEvent
  int (*wait)(std::uint32_t thread, void* out, std::uint32_t* type, std::uint32_t* control,
              std::uint32_t* bytes, std::int32_t limit_ms) = nullptr;
  /// halEschedAckEvent
  int (*acknowledge)(std::uint32_t type, std::uint32_t control) = nullptr;
};

/// The event scheduler of a nano device. What its header leaves open is decided here and nowhere else:
///
/// - `out` receives the address of the event, as the messages are longer than their senders say and can only
///   be passed so. A scheduler that copies the 40 bytes of a mailbox to `out` instead is understood too: it
///   touches more than an address. `bytes` goes in as the room at `out`.
/// - A limit counts milliseconds, and 0 waits for ever, as in the other calls of that header.
class HalScheduler final : public EventScheduler {
 public:
  /// Over `calls`, for the thread of that id, which is the caller of `wait`.
  HalScheduler(const HalCalls& calls, std::uint32_t thread) : calls_(calls), thread_(thread) {}

  [[nodiscard]] Status wait(Event& event, std::int32_t limit_ms) override;
  [[nodiscard]] Status acknowledge(const Event& event) override;

  /// What the latest call returned.
  int code() const { return code_; }

 private:
  /// The driver's code for "nothing came in time".
  static constexpr int kTimeout = 16;
  static constexpr std::byte kUntouched{0xa5};

  HalCalls calls_;
  std::uint32_t thread_;
  int code_ = 0;
  alignas(8) std::byte out_[256];
};

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::nano
