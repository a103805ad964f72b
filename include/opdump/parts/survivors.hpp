#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "opdump/impl/drain/drainer.hpp"

namespace opdump {
inline namespace OPDUMP_NAMESPACE {

/// Where the records go that a ring kept across a reset.
struct SurvivorParts {
  Sink& sink;
  std::string_view root{};  ///< as the config's `dump_path`
  std::uint64_t id = 0;    ///< names their journal, and no other one of this device: the time in microseconds
  MutableBytes scratch{};  ///< see `drain_scratch_bytes`
  JournalDetail journal = JournalDetail::records;
};

/// Writes the records that the last boot left in `ring_memory` to the sink, under the names that they would have had,
/// and syncs the sink. Call it before the memory is given to a recorder again. The records are in a journal of their
/// own that is not closed, because their dump never was. A record is left out if its first chunk had been drained
/// before the reset, or if its head is not in the ring (`add_recorder` with memory for heads). Returns the number of
/// records written; else `malformed` when the memory holds no ring, as after power was off, or the sink's last error.
/// Needs OPDUMP_SURVIVE_RESET (`not_supported`). About 1 KiB of stack.
inline Result<std::uint32_t> drain_survivors(MutableBytes ring_memory, const SurvivorParts& parts) {
#if OPDUMP_SURVIVE_RESET
  Ring ring;
  if (const Status status = ring.recover(ring_memory); status != Status::ok) return status;
  Targets targets;
  PlanList no_plans;
  Drainer drainer(parts.sink, targets, no_plans, parts.scratch, parts.journal, nullptr);
  drainer.start(0, {});
  std::uint32_t next_sequence = 0;
  for (Bytes chunk = ring.peek(); chunk.data() != nullptr; chunk = ring.peek()) {
    ChunkHead head{};
    if (chunk.size() >= sizeof head) std::memcpy(&head, chunk.data(), sizeof head);
    const Bytes body = chunk.subspan(chunk.size() < sizeof head ? chunk.size() : sizeof head);
    const bool has_head = head.kind == ChunkKind::record || head.kind == ChunkKind::lost;
    const Result<RecordView> record = has_head && head.head_bytes <= body.size()
                                          ? RecordView::parse(body.first(head.head_bytes))
                                          : Status::malformed;
    if (record.ok() && record.value().head().target < Targets::kMax) {
      const RecordHead& its = record.value().head();
      if (targets[its.target].time != its.dump_time) {
        targets[its.target] = {.root = parts.root,
                               .time = its.dump_time,
                               .id = parts.id + its.target,
                               .device_id = its.device_id};
        targets.set_state(its.target, Targets::State::in_use);
        drainer.forget_names(its.target);
      }
      next_sequence = its.sequence + 1;
    }
    drainer.drain(0, ring, 1);
  }
  drainer.finish(0, next_sequence, {});
  if (drainer.last_failure() != Status::ok) return drainer.last_failure();
  if (const Status status = parts.sink.sync(); status != Status::ok) return status;
  DumpCounts counts;
  for (std::size_t group = 0; group < Targets::kCounted; ++group) drainer.add_counts(group, counts);
  return counts.written;
#else
  static_cast<void>(ring_memory);
  static_cast<void>(parts);
  return Status::not_supported;
#endif
}

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump
