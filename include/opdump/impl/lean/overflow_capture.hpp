#pragma once
#include <cstddef>
#include <cstdint>

#include "opdump/base/build.hpp"
#include "opdump/impl/capture/record_sender.hpp"
#include "opdump/impl/capture/recorder_context.hpp"
#include "opdump/types/overflow.hpp"
#include "opdump/types/plan.hpp"

namespace opdump {
inline namespace OPDUMP_NAMESPACE {

/// The dims, tensor and operator of the record that a report becomes.
inline constexpr Dim kReportDims[] = {kOpDebugBytes};
inline constexpr TensorView kReportTensor[] = {
    {.bytes = kOpDebugBytes, .dtype = DType::uint8, .shape = kReportDims}};
inline constexpr OpDesc kReportOp = {.name = "Node_OpDebug", .type = "Opdebug", .task_id = 65535};

/// As OverflowCapture, for a lean build: the report is a record of its own after the operator's record.
template <class Memory>
class LeanOverflowCapture {
 public:
  LeanOverflowCapture(RecordSender<Memory>& sender, OverflowTally& tally, const ModelPlan& plan,
                      std::size_t op, const CapturedTensors& tensors)
      : sender_(sender), tally_(tally), plan_(plan), op_(plan.model->ops[op]), tensors_(tensors) {
    sender_.feed().prepare(op_.stream_id, tensors);
  }

  /// Captures the operator if it overflowed.
  OPDUMP_INLINE_IF_LEAN Status check() {
    LeanOverflowReport report;
    const Status status = ask(sender_.context(), op_, tensors_, report);
    if (status == Status::ok) return take(report);
    if (status == kNoOverflow) return Status::ok;
    sender_.begin_record(plan_.target);
    return sender_.lose_untraced(plan_.target, status);
  }

  /// Captures the operator and, after filling it in, `report`, unless enough overflows were captured.
  OPDUMP_INLINE_IF_LEAN Status take(LeanOverflowReport& report) {
    tally_.add_one();
    if (enough_overflows(sender_.context(), tally_)) return Status::ok;
    RecordSource source =
        sender_.describe(op_, &plan_, plan_.target, sender_.begin_record(plan_.target), tensors_);
    // An overflow's tensors are dumped, never their statistics.
    Status status = sender_.record(source, false, false);
    if (status != Status::ok) return status;
    report.model_id = plan_.model->id;
    report.stream_id = op_.stream_id;
    report.task_id = op_.task_id;
    source.of = &op_;
    source.op = &kReportOp;
    source.tensors = {.outputs = kReportTensor};
    sender_.count(plan_.target, DumpCount::wanted);
    sender_.feed().set_report(&report);
    status = sender_.record(source, false, false);
    sender_.feed().set_report(nullptr);
    return status;
  }

 private:
  /// No status.
  static constexpr Status kNoOverflow = static_cast<Status>(0xff);

  /// `ok`: it did. Apart: its Result is not on the stack while a record is sent.
  OPDUMP_APART static Status ask(const RecorderContext<Memory>& context, const OpDesc& op,
                                 const CapturedTensors& tensors, LeanOverflowReport& report) {
    const Result<bool> found = context.overflow->overflowed(op, tensors, report);
    return found.ok() && !found.value() ? kNoOverflow : found.status();
  }

  RecordSender<Memory>& sender_;
  OverflowTally& tally_;
  const ModelPlan& plan_;
  const OpDesc& op_;
  const CapturedTensors& tensors_;
};

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump
