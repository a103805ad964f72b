#pragma once
#include <concepts>
#include <cstddef>

#include "opdump/base/arena.hpp"
#include "opdump/base/bytes.hpp"
#include "opdump/base/status.hpp"
#include "opdump/config/blob.hpp"
#include "opdump/types/config.hpp"

namespace opdump {
inline namespace OPDUMP_NAMESPACE {

/// A compiled plan with a seal behind it, such as a signature or a MAC over all bytes of the plan.
struct SealedPlan {
  Bytes plan;
  Bytes seal;
};

/// Splits untrusted `bytes` into a plan and its seal, by the length in the plan's head. Errors as `load_plan`
/// for a bad head or checksum.
[[nodiscard]] inline Result<SealedPlan> split_plan(Bytes bytes) {
  Bytes plan = bytes;
  if (const Status status = open_plan(plan); status != Status::ok) return status;
  return SealedPlan{plan, bytes.subspan(plan.size())};
}

/// Decides whether a seal fits its plan: `ok`, or why the plan must not be used.
template <class Verify>
concept PlanVerifier = requires(Verify verify, Bytes bytes) {
  { verify(bytes, bytes) } -> std::same_as<Status>;
};

/// As `load_plan`, but calls `verify(plan, seal)` before it parses anything behind the plan's head; only the
/// checksum is computed earlier. If `verify` does not return `ok`, its status is returned and `config` is
/// inactive. The caller chooses the key, the algorithm and what to do about plans older than the last one.
/// `bytes` must not change from the call on: copy a plan first from flash that others may write.
template <PlanVerifier Verify>
[[nodiscard]] Status load_plan(Bytes bytes, Verify&& verify, Arena& memory, DumpConfig& config) {
  config = DumpConfig{};
  const Result<SealedPlan> sealed = split_plan(bytes);
  if (!sealed.ok()) return sealed.status();
  const Status status = verify(sealed.value().plan, sealed.value().seal);
  return status == Status::ok ? load_plan(sealed.value().plan, memory, config) : status;
}

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump
