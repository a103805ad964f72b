#pragma once
#include <cstdint>

#include "opdump/base/status.hpp"
#include "platform/ascend/nano/event.hpp"

namespace opdump::nano {
inline namespace OPDUMP_NAMESPACE {

/// Hands events from a scheduler to a DataDump, one at a time, and acknowledges each once, when the DataDump
/// has taken it. The caller's thread waits for events and captures.
template <class Dump>
class EventLoop {
 public:
  EventLoop(EventScheduler& scheduler, Dump& dump) : scheduler_(scheduler), dump_(dump) {}

  /// Waits up to `limit_ms`, which is not 0, for an event, takes it and acknowledges it. Errors as
  /// `EventScheduler::wait`; that of an acknowledgement is counted.
  [[nodiscard]] Status run_once(std::int32_t limit_ms) {
    Event event;
    if (const Status status = scheduler_.wait(event, limit_ms); status != Status::ok) return status;
    dump_.take(event);
    if (scheduler_.acknowledge(event) != Status::ok) ++failed_;
    return Status::ok;
  }

  /// Takes what has already come: until `wait` has no event, or `most` of them have come.
  void run_out(std::uint32_t most) {
    while (most-- != 0 && run_once(1) == Status::ok) {
    }
  }

  /// Acknowledgements that the scheduler refused.
  std::uint32_t failed() const { return failed_; }

 private:
  EventScheduler& scheduler_;
  Dump& dump_;
  std::uint32_t failed_ = 0;
};

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::nano
