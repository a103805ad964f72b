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

/// Where in `bytes` the plan ends and its seal begins, by the length in the plan's head. Nobody vouches for
/// either. Errors are those of `load_plan` that a head can have.
[[nodiscard]] inline Result<SealedPlan> split_plan(Bytes bytes) {
  Bytes plan = bytes;
  std::uint32_t version = 0;
  if (const Status status = open_plan(plan, version); status != Status::ok) return status;
  return SealedPlan{plan, bytes.subspan(plan.size())};
}

/// Says of a plan and its seal whether they belong together: `ok`, or why the plan is not to be used.
template <class Verify>
concept PlanVerifier = requires(Verify verify, Bytes bytes) {
  { verify(bytes, bytes) } -> std::same_as<Status>;
};

/// As `load_plan`, of a plan that `verify(plan, seal)` has called `ok` before anything behind its head is
/// looked at; what it returns else is returned, and `config` is inactive. The key, the algorithm and what is
/// done about plans that are older than the last one are the caller's. `bytes` must not change from then on:
/// a plan in flash that others may write is copied first.
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
