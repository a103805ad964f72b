#pragma once
#include <cstddef>
#include <cstdint>

#include "opdump/base/bytes.hpp"
#include "opdump/base/status.hpp"
#include "platform/ascend/nano/dbg_walk.hpp"
#include "platform/ascend/nano/mailbox.hpp"

namespace opdump::nano {
inline namespace OPDUMP_NAMESPACE {

/// What the event scheduler of a nano device hands to the device part of the dump.
struct Event {
  std::uint32_t type = 0;         ///< the scheduler's number for what it is
  std::uint32_t control = 0;      ///< the scheduler's own; it goes back with the acknowledgement
  const std::byte* at = nullptr;  ///< what came; stays until the acknowledgement
  std::uint32_t bytes = 0;        ///< as the sender said; 0: it did not
};

enum class EventKind : std::uint8_t {
  message,  ///< a model is loaded or unloaded: a LoadMessage
  mailbox,  ///< a task with a dump flag has run: a Mailbox
  unknown,
};

/// The highest number that the scheduler gives to events of the dump. Source: the vendor's tests, where
/// events up to 2 are handled and others passed over.
inline constexpr std::uint32_t kLastEventType = 2;

/// What `event` is, by its content: which number means which is not documented.
inline EventKind kind_of(const Event& event) {
  if (event.at == nullptr || event.type > kLastEventType) return EventKind::unknown;
  if (begins_as_dbg({event.at, event.bytes})) return EventKind::message;
  return event.bytes == 0 || event.bytes >= kMailboxBytes ? EventKind::mailbox : EventKind::unknown;
}

/// The scheduler, as the part that waits for events sees it. All calls come from one thread.
class EventScheduler {
 public:
  /// Waits for the next event up to `limit_ms`, which is not 0; `timeout` when none came, another error when
  /// none can come now.
  [[nodiscard]] virtual Status wait(Event& event, std::int32_t limit_ms) = 0;

  /// Lets the sender or the NPU go on. Called once for each event that `wait` gave.
  [[nodiscard]] virtual Status acknowledge(const Event& event) = 0;

 protected:
  ~EventScheduler() = default;
};

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::nano
