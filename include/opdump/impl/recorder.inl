#pragma once
// The bodies of recorder.hpp, which includes this file at its end.

#include "opdump/impl/capture/overflow_capture.hpp"
#include "opdump/impl/capture/watch_capture.hpp"
#include "opdump/impl/lean/overflow_capture.hpp"

#if OPDUMP_ENABLED
namespace opdump {
inline namespace OPDUMP_NAMESPACE {

namespace recorder_steps {

template <class Plan>
void count_step(Plan& plan, bool wanted) {
  if constexpr (!build::kLean) {
    ++plan.steps_seen;
    plan.steps_wanted += wanted ? 1 : 0;
  }
}

/// Notes the wanted steps from the end of those that have begun up to `step`.
template <class Plan>
OPDUMP_APART void skip_to(Plan& plan, std::uint64_t step) {
  for (const StepRange& range : plan.steps.ranges) {
    const std::uint64_t first = range.first < plan.steps_end ? plan.steps_end : range.first;
    const std::uint64_t last = range.last < step ? range.last : step - 1;
    if (first > last) continue;
    const bool none = plan.skipped.last < plan.skipped.first;
    if (none || first < plan.skipped.first) plan.skipped.first = first;
    if (none || last > plan.skipped.last) plan.skipped.last = last;
  }
}

template <class Plan>
void count_to([[maybe_unused]] Plan& plan, [[maybe_unused]] std::uint64_t step) {
  if constexpr (!build::kLean) {
    if (step < plan.steps_end) return;
    if (step > plan.steps_end) [[unlikely]]
      skip_to(plan, step);
    plan.steps_end = step + 1;
  }
}

template <class Byte>
void clear(Byte& byte, unsigned bits) {
  byte = static_cast<Byte>(byte & ~bits);
}

}  // namespace recorder_steps

template <class Memory>
inline Status BasicRecorder<Memory>::begin_step(ModelPlan& plan, std::uint64_t step) {
  if (const Status status = join_step(plan, step); status != Status::ok) return status;
  plan.next_step = step + 1;
  recorder_steps::count_to(plan, step);
  recorder_steps::count_step(plan, bits_ != nullptr);
  if constexpr (!build::kLean && kAlways<Memory>) {
    if (plan.triggers != nullptr && bits_ != nullptr) [[unlikely]]
      sender().context().triggers->step_begins(sender(), plan);
  }
  return Status::ok;
}

template <class Memory>
inline Status BasicRecorder<Memory>::join_step(const ModelPlan& plan, std::uint64_t step) {
  if (plan.model == nullptr) return Status::model_not_loaded;
  if (own_plan() != nullptr) return Status::step_open;
  if (!sender().feed().is_attached_to(plan.session)) return Status::invalid_argument;
  sender().set_step(step);
  plan_.store(&plan, std::memory_order_relaxed);
  const bool on = plan.generation != 0 && plan.generation == sender().context().generation;
  bits_ = on && plan.steps.contains(step) ? plan.bits.data() : nullptr;
  if (bits_ != nullptr) sender().set_target(plan.target);
  return Status::ok;
}

template <class Memory>
inline Status BasicRecorder<Memory>::refuse(std::size_t op, Status cause) {
  const ModelPlan* plan = own_plan();
  return captures(plan, op) ? refuse_wanted(*plan, op, cause) : not_captured(plan, op);
}

template <class Memory>
inline Status BasicRecorder<Memory>::refuse_wanted(const ModelPlan& plan, std::size_t op, Status cause) {
  note_seen(plan, op, true, true);
  sender().count_for(plan, op);
  RecordSource source =
      sender().describe(plan.model->ops[op], &plan, plan.target, sender().begin_record(plan.target), {});
  return sender().lose_unseen(source, cause);
}

template <class Memory>
inline Status BasicRecorder<Memory>::capture_overflow(std::size_t op, std::span<const TensorView> inputs,
                                                      std::span<const TensorView> outputs,
                                                      const OverflowReport& report) {
  // No config in force asks for overflows then.
  if constexpr (!build::kOverflow) return capture(op, inputs, outputs);
  const ModelPlan* plan = own_plan();
  if (!captures(plan, op)) return not_captured(plan, op);
  const std::uint8_t bits = bits_[op];
  if ((bits & kCheckOverflow) == 0) return capture(op, inputs, outputs);
  const CapturedTensors tensors = {inputs, outputs};
  if constexpr (build::kLean) {
    OverflowReport filled_in = report;
    return LeanOverflowCapture<Memory>(sender(), overflow_, *plan, op, tensors).take(filled_in);
  } else {
    const Status status = OverflowCapture<Memory>(splitter_, overflow_, *plan, op, tensors).take(report);
    if ((bits & (kCaptureInputs | kCaptureOutputs)) == 0 || status != Status::ok) return status;
    const CapturedTensors selected = select(bits, inputs, outputs);
    const bool leaves_out =
        (bits & kLeaveOut) != 0 &&
        (plan->triggers == nullptr || sender().context().triggers->look(sender(), *plan, op, tensors));
    return leaves_out ? splitter_.capture_remaining(*plan, op, selected)
                      : capture_listed(*plan, op, selected);
  }
}

template <class Memory>
inline void BasicRecorder<Memory>::begin_op(std::size_t op, std::span<const TensorView> inputs,
                                            std::span<const TensorView> outputs, const OpMemory* memory) {
  if (!build::kFaults) return;
  end_op();
  const ModelPlan* plan = own_plan();
  if (bits_ == nullptr || plan == nullptr || op >= plan->model->ops.size()) return;
  running_ = RunningOp{&plan->model->ops[op], inputs, outputs, memory};
}

template <class Memory>
inline void BasicRecorder<Memory>::end_op() {
  if_here(running_, [](auto& running) { running.op = nullptr; });
}

template <class Memory>
inline Status BasicRecorder<Memory>::capture_failure() {
  if constexpr (!build::kFaults) return Status::not_supported;
  const ModelPlan* plan = open_plan();
  if (plan == nullptr) return Status::step_not_open;
  const RunningOp& failed = running_;
  if constexpr (!build::kLean && kAlways<Memory>) {
    if (plan->triggers != nullptr && bits_ != nullptr)
      sender().context().triggers->op_failed(sender(), *plan, failed.op);
  }
  if (!sender().context().failures || bits_ == nullptr) return Status::ok;
  if (failed.op == nullptr) return Status::no_such_op;
  return ExceptionCapture<Memory>(splitter_, *plan, failed).take();
}

template <class Memory>
inline Status BasicRecorder<Memory>::end_step() {
  if (own_plan() == nullptr) return Status::step_not_open;
  if constexpr (!build::kLean && kAlways<Memory>) {
    if (own_plan()->triggers != nullptr && bits_ != nullptr) [[unlikely]]
      sender().context().triggers->step_ends(sender(), *own_plan());
  }
  bits_ = nullptr;
  running_ = RunningOp{};
  // release: the step's use of the plan comes before; pairs with the acquire in `open_plan`.
  plan_.store(nullptr, std::memory_order_release);
  return Status::ok;
}

template <class Memory>
inline void BasicRecorder<Memory>::finish_step([[maybe_unused]] const ModelPlan& plan,
                                               [[maybe_unused]] std::uint64_t step) {
  if constexpr (!build::kLean && kAlways<Memory>) {
    const bool on = plan.generation != 0 && plan.generation == sender().context().generation;
    if (plan.triggers == nullptr || !on || !plan.steps.contains(step)) return;
    sender().set_step(step);
    sender().context().triggers->step_finished(sender(), plan);
  }
}

template <class Memory>
inline Status BasicRecorder<Memory>::leave_step() {
  // So that triggers are told of no end.
  bits_ = nullptr;
  return end_step();
}

template <class Memory>
inline Status BasicRecorder<Memory>::capture_single_op(const OpDesc& op, std::span<const TensorView> inputs,
                                                       std::span<const TensorView> outputs) {
  if (!wants_single_ops()) return no_single_ops();
  const CapturedTensors tensors = select(sender().context().single_bits, inputs, outputs);
  count_single_op();
  const std::uint8_t target = sender().context().target;
  RecordSource source = sender().describe(op, nullptr, target, sender().begin_record(target), tensors);
  sender().feed().prepare(op.stream_id, tensors);
  return splitter_.take(source, false);
}

template <class Memory>
inline Status BasicRecorder<Memory>::refuse_single_op(const OpDesc& op, Status cause) {
  if (!wants_single_ops()) return no_single_ops();
  count_single_op();
  const std::uint8_t target = sender().context().target;
  RecordSource source = sender().describe(op, nullptr, target, sender().begin_record(target), {});
  return sender().lose_unseen(source, cause);
}

template <class Memory>
inline Status BasicRecorder<Memory>::not_captured(const ModelPlan* plan, std::size_t op) {
  if (plan == nullptr) return Status::step_not_open;
  return op < plan->model->ops.size() ? Status::ok : Status::no_such_op;
}

template <class Memory>
inline Status BasicRecorder<Memory>::no_single_ops() const {
  return sender().feed().is_attached_to(nullptr) ? Status::invalid_argument : Status::ok;
}

template <class Memory>
inline CapturedTensors BasicRecorder<Memory>::select(std::uint8_t bits, std::span<const TensorView> inputs,
                                                     std::span<const TensorView> outputs) {
  return {.inputs = inputs.first((bits & kCaptureInputs) != 0 ? inputs.size() : 0),
          .outputs = outputs.first((bits & kCaptureOutputs) != 0 ? outputs.size() : 0)};
}

/// Whether more is to be done with an operator than to capture all of its tensors; a lean build knows of
/// nothing else.
template <class Memory>
constexpr bool BasicRecorder<Memory>::is_special(std::uint8_t bits) {
  return !build::kLean && (bits & ~(kCaptureInputs | kCaptureOutputs)) != 0;
}

/// Captures all of `tensors`.
template <class Memory>
inline Status BasicRecorder<Memory>::capture_listed(const ModelPlan& plan, std::size_t op,
                                                    const CapturedTensors& tensors) {
  const std::uint64_t unix_us = sender().begin_record(plan.target);
  if constexpr (build::kLean) {
    sender().feed().prepare(plan.model->ops[op].stream_id, tensors);
    RecordSource source = sender().describe(plan.model->ops[op], &plan, plan.target, unix_us, tensors);
    return splitter_.take(source, true);
  } else {
    return capture_timed(plan, op, unix_us, tensors);
  }
}

/// The same of a record that has begun; not in lean builds.
template <class Memory>
inline Status BasicRecorder<Memory>::capture_timed(const ModelPlan& plan, std::size_t op,
                                                   std::uint64_t unix_us, const CapturedTensors& tensors) {
  sender().feed().prepare(plan.model->ops[op].stream_id, tensors);
  Status status;
  return sender().record_again(plan, op, unix_us, tensors, status)
             ? status
             : splitter_.take_new(plan, op, unix_us, tensors.inputs, tensors.outputs);
}

/// Does what is to be done with an operator besides capturing all of its tensors, or instead of that. True:
/// all are to be captured too; else `status` is what became of it.
template <class Memory>
OPDUMP_APART inline bool BasicRecorder<Memory>::capture_specially(const ModelPlan& plan, std::size_t op,
                                                                  CapturedTensors tensors, Status& status) {
  const std::uint8_t bits = bits_[op];
  if ((bits & kNotSeen) != 0 && !watches(plan)) see(plan, op, tensors);
  bool leaves_out = (bits & kLeaveOut) != 0;
  if constexpr (!build::kLean && kAlways<Memory>) {
    if (leaves_out && plan.triggers != nullptr)
      leaves_out = sender().context().triggers->look(sender(), plan, op, tensors);
  }
  if constexpr (build::kFaults) {
    if (watches(plan)) {
      note_seen(plan, op, true, true);
      status = WatchCapture<Memory, ModelPlan>(splitter_, watch_, plan, op, tensors.outputs).take();
      return false;
    }
    if ((bits & kCheckOverflow) != 0) {
      status = OverflowCapture<Memory>(splitter_, overflow_, plan, op, tensors).check();
      if ((bits & (kCaptureInputs | kCaptureOutputs)) == 0 || status != Status::ok) return false;
    }
  }
  if constexpr (!build::kLean) {
    status = Status::ok;
    if (!leaves_out) return (bits & (kCaptureInputs | kCaptureOutputs)) != 0;
    status = splitter_.capture_remaining(plan, op, select(bits, tensors.inputs, tensors.outputs));
  }
  return false;
}

/// `capture` where neither may have the other's room on the stack.
template <class Memory>
inline Status BasicRecorder<Memory>::capture_in_parts(std::size_t op, const CapturedTensors& tensors) {
  return (bits_[op] & kCheckOverflow) != 0 ? capture_if_overflowed(op, tensors) : capture_small(op, tensors);
}

template <class Memory>
OPDUMP_APART inline Status BasicRecorder<Memory>::capture_if_overflowed(std::size_t op,
                                                                        const CapturedTensors& tensors) {
  if constexpr (!build::kLean)
    return Status::not_supported;
  else
    return LeanOverflowCapture<Memory>(sender(), overflow_, *own_plan(), op, tensors).check();
}

/// Captures what the config wants of an operator whether it overflows or not.
template <class Memory>
OPDUMP_APART inline Status BasicRecorder<Memory>::capture_small(std::size_t op,
                                                                const CapturedTensors& tensors) {
  const ModelPlan& plan = *own_plan();
  const OpDesc& desc = plan.model->ops[op];
  RecordSource source = sender().describe(desc, &plan, plan.target, sender().begin_record(plan.target),
                                          select(bits_[op], tensors.inputs, tensors.outputs));
  sender().feed().prepare(desc.stream_id, source.tensors);
  return splitter_.take(source, true);
}

/// Notes that operator `op` ran with `tensors`, and tells of those that are doubtful.
template <class Memory>
inline void BasicRecorder<Memory>::see(const ModelPlan& plan, std::size_t op,
                                       const CapturedTensors& tensors) {
  const std::uint8_t before = bits_[op];
  note_seen(plan, op, !tensors.inputs.empty(), !tensors.outputs.empty());
  if constexpr (!build::kLean) {
    const unsigned first = before & ~unsigned{bits_[op]};
    tell_doubtful(plan, op,
                  {tensors.inputs.first((first & kNoInputs) != 0 ? tensors.inputs.size() : 0),
                   tensors.outputs.first((first & kNoOutputs) != 0 ? tensors.outputs.size() : 0)});
  }
}

/// Tells of those of `tensors`, which operator `op` has for the first time, that are doubtful.
template <class Memory>
OPDUMP_APART inline void BasicRecorder<Memory>::tell_doubtful(const ModelPlan& plan, std::size_t op,
                                                              const CapturedTensors& tensors) {
  SessionLog* const log = sender().context().log;
  if (log == nullptr) return;
  const DumpTarget& target = (*sender().context().targets)[plan.target];
  const bool in_table =
      target.form.data != DumpData::tensor && digest_bytes(target.form) == 0 && has_table(target.form.layout);
  tensors.for_each_tensor([&](const TensorView& tensor, bool is_output, std::uint32_t index) {
    std::uint64_t needed = 0;
    if (fault_of(tensor, needed) != TensorFault::none) return;
    const bool no_row = in_table && !has_table_row(tensor.dtype);
    if (!no_row && !has_spare_bytes(tensor, needed)) return;
    log->tensor_faulty({.fault = no_row ? TensorFault::no_statistics : TensorFault::spare_bytes,
                        .is_output = is_output,
                        .index = index,
                        .model = plan.directory_name,
                        .op = plan.model->ops[op].name,
                        .step = sender().step(),
                        .tensor = &tensor,
                        .needed = needed});
  });
}

template <class Memory>
inline void BasicRecorder<Memory>::count_single_op() {
  sender().count_for_none();
  // relaxed, and not at once: only this context counts.
  if constexpr (!build::kLean && kAlways<Memory>)
    single_ops_.store(single_ops() + 1, std::memory_order_relaxed);
}

/// Notes that operator `op` ran, and which tensors were given.
template <class Memory>
inline void BasicRecorder<Memory>::note_seen(const ModelPlan& plan, std::size_t op, bool inputs,
                                             bool outputs) {
  if (build::kLean) return;
  if (watches(plan)) return recorder_steps::clear(bits_[op], kWatchNotRun);
  const unsigned seen = unsigned{kNotRun} | (inputs ? kNoInputs : 0u) | (outputs ? kNoOutputs : 0u);
  if constexpr (!build::kLean) recorder_steps::clear(bits_[op], seen);
}

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump
#endif
