#pragma once
#include <cstddef>

#include "opdump/impl/capture/sent_heads.hpp"
#include "opdump/session.hpp"

namespace opdump {
inline namespace OPDUMP_NAMESPACE {

/// What a session is to serve.
struct Workload {
  std::size_t recorders = 1;      ///< at most OPDUMP_MAX_RECORDERS
  std::size_t ring_bytes = 0;     ///< of each recorder
  std::size_t known_heads = 0;    ///< operators whose heads each recorder keeps, if it is given the memory
  std::size_t scratch_bytes = 0;  ///< see `drain_scratch_bytes`
  std::size_t models = 1;         ///< loaded at once
  std::size_t ops = 0;            ///< of all these models together
  std::size_t counted_ops = 0;    ///< of these, in models given to `BasicSession::count_ops`
};

/// RAM in bytes that a session over `Memory` takes for `workload`, all of it given by the caller: the session
/// itself, the rings, the heads, the scratch, a plan with a byte per operator for each model, and OpCounts
/// for operators that are counted. It depends on neither the tensors nor the number of records. The sink, the
/// clock and the config's texts come besides.
template <class Memory>
constexpr std::size_t ram_bytes(const Workload& workload) {
  return sizeof(BasicSession<Memory>) +
         workload.recorders * (workload.ring_bytes + head_memory_bytes(workload.known_heads)) +
         workload.scratch_bytes + workload.models * sizeof(ModelPlan) + workload.ops +
         workload.counted_ops * sizeof(OpCounts);
}

/// RAM in bytes of a session that serves nothing yet: what is added to the memory the caller hands over.
template <class Memory>
constexpr std::size_t fixed_ram_bytes() {
  return ram_bytes<Memory>({.recorders = 0, .models = 0});
}

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump
