#pragma once
#include <cstddef>
#include <string>

#include "opdump/port/device_memory.hpp"
#include "opdump/types/counts.hpp"

namespace opdump::posix {
inline namespace OPDUMP_NAMESPACE {

/// One of the causes of the losses that `counts`, of `session`, have: the gravest first.
template <class Session>
Status cause_of_loss(const Session& session, const DumpCounts& counts) {
  if (counts.sink_failed != 0) return session.last_sink_failure();
  if (counts.invalid != 0) return Status::unrecordable;
  std::size_t cause = kLossCauses - 1;
  while (counts[static_cast<LossCause>(cause)] == 0) --cause;
  return kLossKinds[cause].status;
}

/// How many records are lost, the cause of them, what makes a ring larger that was too small, and what the driver said
/// last.
template <class Session>
std::string loss_text(const Session& session, const DumpCounts& counts, const DriverError& said) {
  const Status cause = cause_of_loss(session, counts);
  std::string text = std::to_string(counts.lost()) + " of " + std::to_string(counts.wanted) +
                     " records lost, because: " + std::string(to_string(cause));
  if (cause == Status::ring_full || cause == Status::timeout || cause == Status::too_large)
    text += "; \"ring_bytes\" in \"opdump\" makes the ring larger";
  if (said.call != nullptr)
    text.append("; the driver's ").append(said.call).append(" returned ").append(std::to_string(said.code));
  return text;
}

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::posix
