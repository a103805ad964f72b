#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

#include "opdump/exception_capture.hpp"
#include "opdump/model_plan.hpp"
#include "opdump/overflow.hpp"
#include "opdump/overflow_capture.hpp"
#include "opdump/record_maker.hpp"
#include "opdump/recorder_context.hpp"
#include "opdump/small_overflow.hpp"
#include "opdump/watch_capture.hpp"

namespace opdump {
inline namespace OPDUMP_NAMESPACE {

/// One context that captures: a thread, a stream, an interrupt handler. Wait-free but for what `WhenFull`
/// allows. All calls on one recorder come from its own context, one at a time. Compiled out by
/// OPDUMP_ENABLED, each returns `ok`, false, 0 or null at once.
///
///     recorder.begin_step(plan);
///     for each operator i:  run it;  if (recorder.wants(i)) recorder.capture(i, inputs, outputs);
///     recorder.end_step();
template <class Memory>
class BasicRecorder : public RecordMaker<Memory> {
 public:
  BasicRecorder() = default;
  BasicRecorder(const BasicRecorder&) = delete;
  BasicRecorder& operator=(const BasicRecorder&) = delete;

  /// Starts the plan's next execution; steps count from 0 since the model was loaded. `model_not_loaded`, or
  /// `step_open` when the last step was not ended: nothing changes. Models run one step at a time, on any
  /// recorder.
  Status begin_step(ModelPlan& plan) { return begin_step(plan, plan.next_step); }

  /// The same for a runtime that counts steps itself.
  Status begin_step(ModelPlan& plan, std::uint64_t step) {
    if (!OPDUMP_ENABLED) return Status::ok;
    if (plan.model == nullptr) return Status::model_not_loaded;
    if (own_plan() != nullptr) return Status::step_open;
    plan.next_step = step + 1;
    step_ = step;
    plan_.store(&plan, std::memory_order_relaxed);
    const bool on = plan.generation != 0 && plan.generation == context().generation;
    bits_ = on && !plan.bits.empty() && plan.steps.contains(step) ? plan.bits.data() : nullptr;
#if OPDUMP_SMALL_CODE == 0
    ++plan.steps_seen;
    plan.steps_wanted += bits_ != nullptr ? 1 : 0;
#endif
    return Status::ok;
  }

  /// Whether the open step captures operator `op`; false when no step is open. `op` must be an index of the
  /// model.
  bool wants(std::size_t op) const {
#if OPDUMP_ENABLED
    return bits_ != nullptr && bits_[op] != 0;
#else
    static_cast<void>(op);
    return false;
#endif
  }

  /// Captures operator `op` of the open step, which has just run; only the role the config asks for is looked
  /// at. The tensors' bytes are copied before it returns (through the ring, in pieces when they are larger).
  /// `ok` also when the op is not wanted. `step_not_open` and `no_such_op` change nothing; any other error:
  /// this record is lost, counted, and leaves nothing in the dump. An operator that overwrites its inputs is
  /// captured by two calls: inputs before it runs, outputs after. Where the config asks for overflows, both
  /// are handed over in one call after the run, and captured only if the operator overflowed; an error of the
  /// check counts as such of a record.
#if OPDUMP_ENABLED && OPDUMP_SMALL_CODE == 0 && UINTPTR_MAX > 0xffffffff
  // One frame and all registers for the whole way.
  [[gnu::noinline, gnu::flatten]]
#endif
  Status
  capture(std::size_t op, std::span<const TensorView> inputs, std::span<const TensorView> outputs) {
    if (!OPDUMP_ENABLED) return Status::ok;
    const ModelPlan* plan = own_plan();
    if (!captures(plan, op)) return not_captured(plan, op);
    const std::uint8_t bits = bits_[op];
#if OPDUMP_SMALL_CODE && OPDUMP_OVERFLOW
    const CapturedTensors tensors = {inputs, outputs};
    return (bits & kCheckOverflow) != 0 ? capture_if_overflowed(op, tensors) : capture_small(op, tensors);
#else
#if OPDUMP_SMALL_CODE == 0
    Status status;
    if ((bits & ~(kCaptureInputs | kCaptureOutputs)) != 0) [[unlikely]] {
      if (!capture_specially(*plan, op, {inputs, outputs}, status)) return status;
    }
#endif
    const CapturedTensors tensors = select(bits, inputs, outputs);
    const std::uint64_t unix_us = begin_record(plan->target);
    feed_.prepare(plan->model->ops[op].stream_id);
#if OPDUMP_SMALL_CODE
    RecordSource source = describe(plan->model->ops[op], plan, plan->target, unix_us, tensors);
    return take(source, true);
#else
    return record_again(*plan, op, unix_us, tensors, status)
               ? status
               : take_new(*plan, op, unix_us, tensors.inputs, tensors.outputs);
#endif
#endif
  }

  /// The same for an operator whose tensors cannot be handed over, because of `cause`: its record is lost and
  /// counted as such. Returns `cause`, or what `capture` would have said before it looked at the tensors.
  Status refuse(std::size_t op, Status cause) {
    if (!OPDUMP_ENABLED) return Status::ok;
    const ModelPlan* plan = own_plan();
    if (!captures(plan, op)) return not_captured(plan, op);
    count_for(*plan, op);
    RecordSource source = describe(plan->model->ops[op], plan, plan->target, begin_record(plan->target), {});
    return lose_unseen(source, cause);
  }

#if OPDUMP_OVERFLOW
  /// As `capture`, for an operator of which the runtime knows that it overflowed, as `report` says: nothing
  /// is looked for. Captures it if the config asks for overflows and `overflow_number` of them have not been
  /// captured yet.
  Status capture_overflow(std::size_t op, std::span<const TensorView> inputs,
                          std::span<const TensorView> outputs, const OverflowReport& report) {
    if (!OPDUMP_ENABLED) return Status::ok;
    const ModelPlan* plan = own_plan();
    if (!captures(plan, op)) return not_captured(plan, op);
    if ((bits_[op] & kCheckOverflow) == 0) return Status::ok;
#if OPDUMP_SMALL_CODE
    feed_.prepare(plan->model->ops[op].stream_id);
    OverflowReport filled_in = report;
    return take_overflow(*plan, plan->model->ops[op], {inputs, outputs}, filled_in);
#else
    return OverflowCapture<BasicRecorder>(*this, *plan, op, {inputs, outputs}).take(report);
#endif
  }

  /// Operators that overflowed, captured or not. Any context may ask.
  std::uint32_t overflows() const {
    return OPDUMP_ENABLED != 0 ? overflow_.found.value() : 0;
  }
#endif

#if OPDUMP_FAULTS
  /// From the recorder's own context, or while it rests.
  const FirstBadOp& first_bad_op() const {
    return overflow_.first;
  }

  /// Says that operator `op` of the open step begins to run, on these tensors and in `memory` (null: not
  /// known), so that it can be dumped when it fails or the program dies in it: `capture_failure`,
  /// `BasicSession::crash_flush`. All that is handed over must stay until the next operator begins or the
  /// step ends. Costs a few stores.
  void begin_op(std::size_t op, std::span<const TensorView> inputs, std::span<const TensorView> outputs,
                const OpMemory* memory = nullptr) {
    const ModelPlan* plan = own_plan();
    if (bits_ == nullptr || plan == nullptr || op >= plan->model->ops.size()) return;
    running_ = {&plan->model->ops[op], inputs, outputs, memory};
  }

  /// Captures the operator that began last, which the runtime found to have failed, if the config asks for
  /// that; `step_not_open`, or `no_such_op` when none has begun. Memory that cannot be read becomes zeros.
  Status capture_failure() {
    if (!OPDUMP_ENABLED) return Status::ok;
    const ModelPlan* plan = open_plan();
    if (plan == nullptr) return Status::step_not_open;
    if (!context().failures || bits_ == nullptr) return Status::ok;
    if (running_.op == nullptr) return Status::no_such_op;
    return ExceptionCapture<BasicRecorder>(*this, *plan, running_).take();
  }

  /// Times that a watched operator's output was found overwritten. Any context may ask.
  std::uint32_t overwrites() const {
    return OPDUMP_ENABLED != 0 ? watch_.overwrites.value() : 0;
  }

  /// From the recorder's own context, or while it rests.
  const Overwrite& first_overwrite() const {
    return watch_.first;
  }
#endif

  /// Ends the open step; `step_not_open` without one.
  Status end_step() {
    if (!OPDUMP_ENABLED) return Status::ok;
    if (own_plan() == nullptr) return Status::step_not_open;
    bits_ = nullptr;
#if OPDUMP_FAULTS
    running_ = {};
#endif
    // release: the step's use of the plan comes before; pairs with the acquire in `open_plan`.
    plan_.store(nullptr, std::memory_order_release);
    return Status::ok;
  }

  /// Whether operators run outside a model are captured.
  bool wants_single_ops() const {
#if OPDUMP_ENABLED
    return context().single_ops;
#else
    return false;
#endif
  }

  /// Captures an operator that has just run outside any model. Errors as `capture`.
  Status capture_single_op(const OpDesc& op, std::span<const TensorView> inputs,
                           std::span<const TensorView> outputs) {
    if (!wants_single_ops()) return Status::ok;
    const CapturedTensors tensors = select(context().single_bits, inputs, outputs);
    count_for_none();
    const std::uint8_t target = context().target;
    RecordSource source = describe(op, nullptr, target, begin_record(target), tensors);
    feed_.prepare(op.stream_id);
    return take(source, false);
  }

  /// As `refuse`, for an operator that has run outside any model.
  Status refuse_single_op(const OpDesc& op, Status cause) {
    if (!wants_single_ops()) return Status::ok;
    count_for_none();
    const std::uint8_t target = context().target;
    RecordSource source = describe(op, nullptr, target, begin_record(target), {});
    return lose_unseen(source, cause);
  }

  /// The plan whose step is open, null without one. Any context may ask; the answer may be old at once.
  const ModelPlan* open_plan() const {
    // acquire: when it says that no step is open, the plan is out of use; pairs with the release in
    // `end_step`.
    return OPDUMP_ENABLED != 0 ? plan_.load(std::memory_order_acquire) : nullptr;
  }

 private:
  using Maker = RecordMaker<Memory>;
  using Maker::begin_record;
  using Maker::context;
  using Maker::count_for;
  using Maker::count_for_none;
  using Maker::describe;
  using Maker::feed_;
  using Maker::lose_unseen;
  using Maker::select;
  using Maker::step_;
  using Maker::take;
#if OPDUMP_SMALL_CODE == 0
  using Maker::capture_remaining;
  using Maker::record_again;
  using Maker::take_new;
#elif OPDUMP_OVERFLOW
  using Maker::count;
  using Maker::lose_untraced;
  using Maker::record;
#endif

  template <class Recorder>
  friend class OverflowCapture;
  template <class Recorder>
  friend class WatchCapture;
  template <class Recorder>
  friend class ExceptionCapture;

  /// `open_plan`, asked by the context that sets it.
  const ModelPlan* own_plan() const {
    return OPDUMP_ENABLED != 0 ? plan_.load(std::memory_order_relaxed) : nullptr;
  }

  /// As `wants`, for any `op`. `plan` is the open one.
  bool captures(const ModelPlan* plan, std::size_t op) const {
    return bits_ != nullptr && op < plan->bits.size() && bits_[op] != 0;
  }

  /// What is said of an operator that is not captured.
  static Status not_captured(const ModelPlan* plan, std::size_t op) {
    if (plan == nullptr) return Status::step_not_open;
    return op < plan->model->ops.size() ? Status::ok : Status::no_such_op;
  }

#if OPDUMP_SMALL_CODE == 0
  /// Does what is to be done with an operator besides capturing all of its tensors, or instead of that. True:
  /// all are to be captured too; else `status` is what became of it.
  [[gnu::noinline]] bool capture_specially(const ModelPlan& plan, std::size_t op, CapturedTensors tensors,
                                           Status& status) {
    const std::uint8_t bits = bits_[op];
#if OPDUMP_FAULTS
    if (!plan.watch.ops.empty()) {
      status = WatchCapture<BasicRecorder>(*this, plan, op, tensors.outputs).take();
      return false;
    }
    if ((bits & kCheckOverflow) != 0) {
      status = OverflowCapture<BasicRecorder>(*this, plan, op, tensors).check();
      if ((bits & (kCaptureInputs | kCaptureOutputs)) == 0 || status != Status::ok) return false;
    }
#endif
    if ((bits & kLeaveOut) == 0) return true;
    status = capture_remaining(plan, op, select(bits, tensors.inputs, tensors.outputs));
    return false;
  }
#endif

#if OPDUMP_OVERFLOW
  /// Those of all recorders. Two that count at the same moment may both find the number passed.
  std::uint32_t all_overflows() const {
#if OPDUMP_MAX_RECORDERS == 1
    return overflows();
#else
    std::uint32_t sum = 0;
    for (std::size_t i = 0; i < OPDUMP_MAX_RECORDERS; ++i) sum += context().recorders[i].overflows();
    return sum;
#endif
  }
#endif

#if OPDUMP_SMALL_CODE && OPDUMP_OVERFLOW
  // Not in `capture`, which would need room on the stack for all of this and `capture_small` at once.
  [[gnu::noinline]] Status capture_if_overflowed(std::size_t op, const CapturedTensors& tensors) {
    const ModelPlan& plan = *own_plan();
    const OpDesc& desc = plan.model->ops[op];
    feed_.prepare(desc.stream_id);
    OverflowReport report;
    const Result<bool> found = context().overflow->overflowed(desc, tensors, report);
    if (found.ok()) return found.value() ? take_overflow(plan, desc, tensors, report) : Status::ok;
    begin_record(plan.target);
    return lose_untraced(plan.target, found.status());
  }

  /// Captures the operator, and then as a record of its own what is known of its overflow, which is filled
  /// in.
  Status take_overflow(const ModelPlan& plan, const OpDesc& op, const CapturedTensors& tensors,
                       OverflowReport& report) {
    overflow_.found.add_one();
    const std::uint32_t most = context().overflow_number;
    if (most != 0 && all_overflows() > most) return Status::ok;
    RecordSource source = describe(op, &plan, plan.target, begin_record(plan.target), tensors);
    // Statistics are not wanted here.
    Status status = record(source, false, false);
    if (status != Status::ok) return status;
    report.model_id = plan.model->id;
    report.stream_id = op.stream_id;
    report.task_id = op.task_id;
    source.of = &op;
    source.op = &kReportOp;
    source.tensors = {.outputs = kReportTensor};
    count(plan.target, DumpCount::wanted);
    feed_.set_report(&report);
    status = record(source, false, false);
    feed_.set_report(nullptr);
    return status;
  }

  /// Captures what the config wants of an operator whether it overflows or not. Not in `capture` either.
  [[gnu::noinline]] Status capture_small(std::size_t op, const CapturedTensors& tensors) {
    const ModelPlan& plan = *own_plan();
    const OpDesc& desc = plan.model->ops[op];
    RecordSource source = describe(desc, &plan, plan.target, begin_record(plan.target),
                                   select(bits_[op], tensors.inputs, tensors.outputs));
    feed_.prepare(desc.stream_id);
    return take(source, true);
  }
#endif

  const std::uint8_t* bits_ = nullptr;  ///< null: the step is not wanted, or none is open
  std::atomic<const ModelPlan*> plan_{nullptr};
#if OPDUMP_FAULTS
  RunningOp running_;
#endif
  [[no_unique_address]] OverflowTally overflow_;
  [[no_unique_address]] WatchTally watch_;
};

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump
