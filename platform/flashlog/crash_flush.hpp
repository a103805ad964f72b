#pragma once
#include "opdump/status.hpp"
#include "platform/flashlog/flash_log.hpp"

namespace opdump::flashlog {
inline namespace OPDUMP_NAMESPACE {

#if OPDUMP_FAULTS
/// For HardFault and watchdog handlers, with interrupts off: writes to `log`, which is the session's sink,
/// what its page and the session's rings hold, and what the config asks for of the operator that was running
/// on `failed` (null: none), as `begin_op` announced it. Polls the flash, erases nothing and allocates
/// nothing; blocks that were prepared ahead are its room. `unfinished` when it interrupted a call of the log:
/// then nothing can be added. The system has to be reset afterwards.
template <class Session>
[[nodiscard]] Status crash_flush(FlashLog& log, Session& session,
                                 typename Session::Recorder* failed = nullptr) {
  session.begin_crash();
  const Status status = log.emergency();
  if (status != Status::ok) return status;
  session.crash_flush(failed);
  return log.emergency();
}
#endif

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::flashlog
