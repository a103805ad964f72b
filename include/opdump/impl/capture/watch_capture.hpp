#pragma once
#include <cstddef>
#include <cstdint>

#include "opdump/base/bytes.hpp"
#include "opdump/base/crc32.hpp"
#include "opdump/impl/capture/record_splitter.hpp"
#include "opdump/port/device_copy.hpp"
#include "opdump/types/watch.hpp"

namespace opdump {
inline namespace OPDUMP_NAMESPACE {

template <class Memory>
inline Status WatchedOutput::look(Memory& memory, Overwrite* overwrite, bool& changed) {
  changed = false;
  tell_will_read(memory, address, bytes);
  for (std::size_t block = 0; block * block_bytes < bytes; ++block) {
    const std::uint64_t from = block * block_bytes;
    const std::uint64_t end = bytes - from < block_bytes ? bytes : from + block_bytes;
    std::uint32_t checksum = 0;
    if (const Status status = sum(memory, from, end, checksum); status != Status::ok) return status;
    if (overwrite != nullptr && checksum != checksums[block]) {
      if (!changed) overwrite->first = from;
      overwrite->last = end - 1;
      changed = true;
    }
    checksums[block] = checksum;
  }
  return Status::ok;
}

template <class Memory>
inline Status WatchedOutput::sum(Memory& memory, std::uint64_t from, std::uint64_t end,
                                 std::uint32_t& checksum) const {
  constexpr std::size_t kPieceBytes = 256;
  std::byte piece[kPieceBytes];
  for (; from < end; from += kPieceBytes) {
    const std::size_t now = end - from < kPieceBytes ? static_cast<std::size_t>(end - from) : kPieceBytes;
    const Status status = copy_pieces(memory, address + from, {piece, now});
    if (status != Status::ok) return status;
    checksum = crc32(checksum, Bytes(piece, now));
  }
  return Status::ok;
}

/// What a recorder does with operator `op`, which has just run, under a plan that watches.
template <class Memory, class Plan>
class WatchCapture {
 public:
  WatchCapture(RecordSplitter<Memory>& splitter, WatchTally& tally, const Plan& plan, std::size_t op,
               std::span<const TensorView> outputs)
      : splitter_(splitter),
        sender_(splitter.sender()),
        tally_(tally),
        plan_(plan),
        op_(op),
        outputs_(outputs) {
    sender_.count_for(plan, op);
    sender_.feed().prepare(desc().stream_id, {});
  }

  Status take() { return is_watched(plan_.bits[op_]) ? remember() : look_at_watched(); }

 private:
  const OpDesc& desc() const { return plan_.model->ops[op_]; }

  /// The watched operator's own record, and what it takes to look again.
  Status remember() {
    WatchedOp& watched = *plan_.watch.find(op_);
    watched.output_count = 0;
    if (outputs_.size() > kMaxWatchedOutputs) return lose(Status::too_many_tensors);
    bool changed = false;
    for (std::size_t i = 0; i < outputs_.size(); ++i) {
      Status status = watched.outputs[i].keep(outputs_[i]);
      if (status == Status::ok) status = watched.outputs[i].look(*sender_.context().memory, nullptr, changed);
      if (status != Status::ok) return lose(status);
    }
    watched.output_count = static_cast<std::uint32_t>(outputs_.size());
    if (sender_.context().watch_changes_only) return Status::ok;
    return record(desc().name, outputs_, desc());
  }

  Status look_at_watched() {
    Status status = Status::ok;
    for (WatchedOp& watched : plan_.watch.ops) {
      const bool mine = (plan_.bits[watched.op] & plan_.bits[op_] & kWatchEntries) != 0;
      if (!mine) continue;
      if (watched.output_count == 0) {
        note_early(watched);
        continue;
      }
      const Status of_one = look_at(watched);
      if (status == Status::ok) status = of_one;
    }
    return status;
  }

  /// Not of one that has run, and was lost.
  void note_early([[maybe_unused]] WatchedOp& watched) const {
    if ((plan_.bits[watched.op] & kWatchNotRun) == 0) return;
    if_here(watched.early, [this](auto& early) { early.add(op_, sender_.step()); });
  }

  Status look_at(WatchedOp& watched) {
    const std::string_view name = plan_.model->ops[watched.op].name;
    TensorView views[kMaxWatchedOutputs];
    bool any = false;
    for (std::uint32_t i = 0; i < watched.output_count; ++i) {
      Overwrite overwrite = {.step = sender_.step(), .by = desc().name, .watched = name, .output = i};
      bool changed = false;
      const Status status = watched.outputs[i].look(*sender_.context().memory, &overwrite, changed);
      if (status != Status::ok) return lose(status);
      if (changed) tell(overwrite);
      any = any || changed;
      views[i] = watched.outputs[i].view();
    }
    if (sender_.context().watch_changes_only && !any) return Status::ok;
    return record(plan_.watch.name_of(desc().name, name), {views, watched.output_count},
                  plan_.model->ops[watched.op]);
  }

  void tell(const Overwrite& overwrite) {
    tally_.add(overwrite);
    if (sender_.context().watch_listener != nullptr) sender_.context().watch_listener->overwritten(overwrite);
  }

  /// The outputs are of `owner`.
  Status record(std::string_view name, std::span<const TensorView> outputs, const OpDesc& owner) {
    OpDesc named = desc();
    named.name = name;
    RecordSource source = sender_.describe(named, &plan_, plan_.target, sender_.begin_record(plan_.target),
                                           {.outputs = outputs});
    source.of = &desc();
    return splitter_.take(source, false, owner);
  }

  Status lose(Status status) {
    sender_.begin_record(plan_.target);
    return sender_.lose_untraced(plan_.target, status);
  }

  RecordSplitter<Memory>& splitter_;
  RecordSender<Memory>& sender_;
  WatchTally& tally_;
  const Plan& plan_;
  const std::size_t op_;
  const std::span<const TensorView> outputs_;
};

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump
