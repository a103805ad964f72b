#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "opdump/impl/capture/record_splitter.hpp"
#include "opdump/impl/capture/recorder_context.hpp"
#include "opdump/impl/record/wire_described.hpp"
#include "opdump/types/overflow.hpp"
#include "opdump/types/plan.hpp"

namespace opdump {
inline namespace OPDUMP_NAMESPACE {

/// What a recorder does with operator `op`, which has just run, where the config asks for overflows.
template <class Memory>
class OverflowCapture {
 public:
  OverflowCapture(RecordSplitter<Memory>& splitter, OverflowTally& tally, const ModelPlan& plan,
                  std::size_t op, const CapturedTensors& tensors)
      : splitter_(splitter),
        sender_(splitter.sender()),
        tally_(tally),
        plan_(plan),
        op_(op),
        tensors_(tensors) {
    sender_.count_for(plan, op);
    sender_.feed().prepare(desc().stream_id, tensors);
  }

  /// Captures the operator if it overflowed.
  Status check() {
    FullOverflowReport report;
    const Result<bool> found = sender_.context().overflow->overflowed(desc(), tensors_, report);
    if (found.ok()) return found.value() ? take(report) : Status::ok;
    sender_.begin_record(plan_.target);
    return sender_.lose_untraced(plan_.target, found.status());
  }

  /// Captures it with what the device or the runtime reported.
  Status take(FullOverflowReport report) {
    tally_.add_one();
    report.model_id = plan_.model->id;
    report.stream_id = desc().stream_id;
    report.task_id = desc().task_id;
    const FirstBadOp& first = tally_.first;
    if (first.unix_us == 0) keep_if_first(report);
    if (enough_overflows(sender_.context(), tally_)) return Status::ok;
    RecordSource source =
        sender_.describe(desc(), &plan_, plan_.target, sender_.begin_record(plan_.target), tensors_);
    const DumpTarget& target = *source.target;
    if (!target.reports) return splitter_.take(source, false);
    if (!target.split) return take_both(source, report);
    RecordSource of_report = source;
    const Status status = splitter_.take(source, false);
    if (status != Status::ok) return status;
    sender_.count(plan_.target, DumpCount::wanted);
    of_report.sequence = sender_.next_sequence();
    const Status reported = put_report(of_report, report);
    if (reported != Status::ok) return sender_.lose_untraced(plan_.target, reported);
    sender_.take_number();
    return sender_.end_record(plan_.target, Status::ok);
  }

 private:
  const OpDesc& desc() const { return plan_.model->ops[op_]; }

  void keep_if_first(const FullOverflowReport& report) {
    const Result<bool> bad = sender_.context().overflow->bad(tensors_.inputs);
    if (!bad.ok() || bad.value()) return;
    tally_.first = FirstBadOp{.unix_us = sender_.context().clock->unix_us(),
                              .step = sender_.step(),
                              .status = report.searched ? 0 : report.status[0],
                              .name = desc().name,
                              .type = desc().type,
                              .model_id = plan_.model->id,
                              .op = static_cast<std::uint32_t>(op_)};
  }

  /// `record_both` of what the config's privacy keeps; the report is there even if that is nothing.
  Status take_both(RecordSource& source, const FullOverflowReport& report) {
    if (privacy_of(*source.target).empty()) return record_both(source, report, false);
    const auto take = [&](RecordSource& kept, bool, const KeptRules&) {
      return record_both(kept, report, true);
    };
    return splitter_.take_private(source, false, desc(), nullptr, true, take);
  }

  /// Captures `source`, which has begun, and the report behind it as two records; when one is lost, both are.
  Status record_both(RecordSource& source, const FullOverflowReport& report, bool keep_empty) {
    RecordBytes bytes;
    Status status;
    if (!sender_.begin(source, bytes, keep_empty, status)) return sender_.skip_empty(plan_.target);
    RecordSource of_report = source;
    of_report.sequence = source.sequence + 1;
    if (status == Status::ok) status = sender_.put(source, bytes, true);
    if (status == Status::ok) status = put_report(of_report, report);
    if (status != Status::ok) sender_.lose(source, status);
    sender_.end_record(plan_.target, status);
    sender_.count(plan_.target, DumpCount::wanted);
    if (status != Status::ok) return sender_.lose_untraced(plan_.target, status);
    sender_.take_number();
    return sender_.end_record(plan_.target, Status::ok);
  }

  /// Makes `source`, the operator's, that of the report and puts it into the ring.
  Status put_report(RecordSource& source, const FullOverflowReport& report) {
    const Dim dims[] = {kOpDebugBytes};
    const TensorView tensor = {.bytes = kOpDebugBytes, .dtype = DType::uint8, .shape = dims};
    const OpDesc named = {.name = "Node_OpDebug",
                          .type = "Opdebug",
                          .task_id = report.debug_task_id,
                          .stream_id = desc().stream_id};
    source.of = source.op;
    source.op = &named;
    source.tensors = {.outputs = {&tensor, 1}};
    RecordBytes bytes;
    Status status = DescribedWire::measure(source, bytes);
    if (status != Status::ok) return status;
    const std::uint32_t chunk_bytes = sizeof(ChunkHead) + bytes.head + sizeof report;
    if (chunk_bytes > sender_.ring().max_chunk()) return Status::too_large;
    MutableBytes chunk;
    status = sender_.open(chunk_head(ChunkKind::report, true, Status::ok, {}, bytes.head), chunk_bytes,
                          chunk_bytes, chunk);
    if (status != Status::ok) return status;
    std::byte* const head = chunk.data() + sizeof(ChunkHead);
    DescribedWire::encode(source, bytes, head);
    std::memcpy(head + bytes.head, &report, sizeof report);
    sender_.commit(chunk_bytes);
    return Status::ok;
  }

  RecordSplitter<Memory>& splitter_;
  RecordSender<Memory>& sender_;
  OverflowTally& tally_;
  const ModelPlan& plan_;
  const std::size_t op_;
  const CapturedTensors tensors_;
};

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump
