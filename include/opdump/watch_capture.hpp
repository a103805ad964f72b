#pragma once
#include <cstddef>
#include <cstdint>

#include "opdump/record_source.hpp"
#include "opdump/watch.hpp"

namespace opdump {
inline namespace OPDUMP_NAMESPACE {

#if OPDUMP_FAULTS
/// What a recorder does with operator `op`, which has just run, under a plan that watches. A part of the
/// recorder.
template <class Recorder>
class WatchCapture {
 public:
  WatchCapture(Recorder& recorder, const ModelPlan& plan, std::size_t op, std::span<const TensorView> outputs)
      : recorder_(recorder), plan_(plan), op_(op), outputs_(outputs) {
    recorder_.count_for(plan, op);
    recorder_.feed_.prepare(desc().stream_id);
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
      if (status == Status::ok)
        status = watched.outputs[i].look(*recorder_.context().memory, nullptr, changed);
      if (status != Status::ok) return lose(status);
    }
    watched.output_count = static_cast<std::uint32_t>(outputs_.size());
    if (recorder_.context().watch_changes_only) return Status::ok;
    return record(desc().name, outputs_);
  }

  Status look_at_watched() {
    Status status = Status::ok;
    for (WatchedOp& watched : plan_.watch.ops) {
      const bool mine = (plan_.bits[watched.op] & plan_.bits[op_] & kWatchEntries) != 0;
      if (!mine || watched.output_count == 0) continue;
      const Status of_one = look_at(watched);
      if (status == Status::ok) status = of_one;
    }
    return status;
  }

  Status look_at(WatchedOp& watched) {
    const std::string_view name = plan_.model->ops[watched.op].name;
    TensorView views[kMaxWatchedOutputs];
    bool any = false;
    for (std::uint32_t i = 0; i < watched.output_count; ++i) {
      Overwrite overwrite = {.step = recorder_.step_, .by = desc().name, .watched = name, .output = i};
      bool changed = false;
      const Status status = watched.outputs[i].look(*recorder_.context().memory, &overwrite, changed);
      if (status != Status::ok) return lose(status);
      if (changed) tell(overwrite);
      any = any || changed;
      views[i] = watched.outputs[i].view();
    }
    if (recorder_.context().watch_changes_only && !any) return Status::ok;
    return record(plan_.watch.name_of(desc().name, name), {views, watched.output_count});
  }

  void tell(const Overwrite& overwrite) {
    WatchTally& tally = recorder_.watch_;
    if (tally.overwrites.value() == 0) tally.first = overwrite;
    tally.overwrites.add_one();
    if (recorder_.context().watch_listener != nullptr)
      recorder_.context().watch_listener->overwritten(overwrite);
  }

  Status record(std::string_view name, std::span<const TensorView> outputs) {
    OpDesc named = desc();
    named.name = name;
    RecordSource source = recorder_.describe(named, &plan_, plan_.target,
                                             recorder_.begin_record(plan_.target), {.outputs = outputs});
    source.of = &desc();
    return recorder_.take(source, false);
  }

  Status lose(Status status) {
    recorder_.begin_record(plan_.target);
    return recorder_.lose_untraced(plan_.target, status);
  }

  Recorder& recorder_;
  const ModelPlan& plan_;
  const std::size_t op_;
  const std::span<const TensorView> outputs_;
};
#endif

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump
