#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "opdump/model_plan.hpp"
#include "opdump/overflow.hpp"
#include "opdump/record_source.hpp"

namespace opdump {
inline namespace OPDUMP_NAMESPACE {

#if OPDUMP_FAULTS
/// What a recorder does with operator `op`, which has just run, where the config asks for overflows. A part
/// of the recorder.
template <class Recorder>
class OverflowCapture {
 public:
  OverflowCapture(Recorder& recorder, const ModelPlan& plan, std::size_t op, const CapturedTensors& tensors)
      : recorder_(recorder), plan_(plan), op_(op), tensors_(tensors) {
    recorder_.count_for(plan, op);
    recorder_.feed_.prepare(desc().stream_id);
  }

  /// Captures the operator if it overflowed.
  Status check() {
    OverflowReport report;
    const Result<bool> found = recorder_.context().overflow->overflowed(desc(), tensors_, report);
    if (found.ok()) return found.value() ? take(report) : Status::ok;
    recorder_.begin_record(plan_.target);
    return recorder_.lose_untraced(plan_.target, found.status());
  }

  /// Captures it with what the device or the runtime reported.
  Status take(OverflowReport report) {
    recorder_.overflow_.found.add_one();
    report.model_id = plan_.model->id;
    report.stream_id = desc().stream_id;
    report.task_id = desc().task_id;
    if (recorder_.overflow_.first.unix_us == 0) keep_if_first(report);
    const std::uint32_t most = recorder_.context().overflow_number;
    if (most != 0 && recorder_.all_overflows() > most) return Status::ok;
    RecordSource source =
        recorder_.describe(desc(), &plan_, plan_.target, recorder_.begin_record(plan_.target), tensors_);
    const DumpTarget& target = *source.target;
    if (!target.reports) return recorder_.take(source, false);
    if (!target.split) return record_both(source, report);
    RecordSource of_report = source;
    const Status status = recorder_.take(source, false);
    if (status != Status::ok) return status;
    recorder_.count(plan_.target, DumpCount::wanted);
    of_report.sequence = recorder_.sequence_;
    const Status reported = put_report(of_report, report);
    if (reported != Status::ok) return recorder_.lose_untraced(plan_.target, reported);
    ++recorder_.sequence_;
    return recorder_.end_record(plan_.target, Status::ok);
  }

 private:
  const OpDesc& desc() const { return plan_.model->ops[op_]; }

  void keep_if_first(const OverflowReport& report) {
    const Result<bool> bad = recorder_.context().overflow->bad(tensors_.inputs);
    if (!bad.ok() || bad.value()) return;
    recorder_.overflow_.first = {.unix_us = recorder_.context().clock->unix_us(),
                                 .step = recorder_.step_,
                                 .status = report.status[0],
                                 .name = desc().name,
                                 .type = desc().type,
                                 .model_id = plan_.model->id,
                                 .op = static_cast<std::uint32_t>(op_)};
  }

  /// Captures `source`, which has begun, and the report behind it as two records; when one is lost, both are.
  Status record_both(RecordSource& source, const OverflowReport& report) {
    RecordBytes bytes;
    Status status = measure_record(source, bytes);
    if (status == Status::ok && bytes.data == 0) return recorder_.skip_empty(plan_.target);
    source.sequence = recorder_.sequence_++;
    recorder_.begun_ = false;
    RecordSource of_report = source;
    of_report.sequence = source.sequence + 1;
    if (status == Status::ok) status = recorder_.put(source, bytes, true);
    if (status == Status::ok) status = put_report(of_report, report);
    if (status != Status::ok) recorder_.lose(source, status);
    recorder_.end_record(plan_.target, status);
    recorder_.count(plan_.target, DumpCount::wanted);
    if (status != Status::ok) return recorder_.lose_untraced(plan_.target, status);
    ++recorder_.sequence_;
    return recorder_.end_record(plan_.target, Status::ok);
  }

  /// Makes `source`, the operator's, that of the report and puts it into the ring.
  Status put_report(RecordSource& source, const OverflowReport& report) {
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
    Status status = measure_record(source, bytes);
    if (status != Status::ok) return status;
    const std::uint32_t room = sizeof(ChunkHead) + bytes.head + sizeof report;
    if (room > recorder_.feed_.ring().max_chunk()) return Status::too_large;
    MutableBytes chunk;
    status = recorder_.feed_.room(room, room, chunk);
    if (status != Status::ok) return status;
    const ChunkHead head =
        chunk_head(ChunkKind::report, true, Status::ok, recorder_.untold_.gap(), bytes.head);
    std::memcpy(chunk.data(), &head, sizeof head);
    encode_record(source, source.tensors, 0, chunk.data() + sizeof head);
    std::memcpy(chunk.data() + sizeof head + bytes.head, &report, sizeof report);
    recorder_.feed_.ring().commit(room);
    recorder_.untold_.clear();
    return Status::ok;
  }

  Recorder& recorder_;
  const ModelPlan& plan_;
  const std::size_t op_;
  const CapturedTensors tensors_;
};
#endif

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump
