#pragma once
#include "opdump/base/status.hpp"
#include "platform/flashlog/flash_log.hpp"

namespace opdump::flashlog {
inline namespace OPDUMP_NAMESPACE {

/// For HardFault and watchdog handlers, with interrupts off: writes to `log`, which is the session's sink,
/// what its page and the session's rings hold, and what the config asks for of the operator that was running
/// on `failed` (null: none), as `begin_op` announced it. Polls the flash, erases nothing and allocates
/// nothing; blocks that were prepared ahead are its room. `unfinished` when it interrupted a call of the log:
/// then nothing can be added; `not_supported` without OPDUMP_FAULTS. The system has to be reset afterwards.
template <class Session>
[[nodiscard]] Status crash_flush(FlashLog& log, Session& session,
                                 typename Session::Recorder* failed = nullptr) {
  Status status = session.begin_crash();
  if (status == Status::ok) status = log.emergency();
  if (status != Status::ok) return status;
  session.crash_flush(failed);
  return log.emergency();
}

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::flashlog
