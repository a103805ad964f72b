#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "opdump/base/build.hpp"
#include "opdump/impl/capture/exception_capture.hpp"
#include "opdump/impl/capture/record_splitter.hpp"
#include "opdump/impl/off.hpp"
#include "opdump/types/overflow.hpp"
#include "opdump/types/plan.hpp"
#include "opdump/types/watch.hpp"

#if OPDUMP_ENABLED
namespace opdump {
inline namespace OPDUMP_NAMESPACE {

/// One context that captures: a thread, a stream, an interrupt handler. A recorder is wait-free, except as
/// `WhenFull` allows. All calls on one recorder come from its own context, one at a time. Where
/// OPDUMP_ENABLED leaves capturing out, each call returns `ok`, false, 0 or null at once. A call that another
/// knob leaves out returns `not_supported`, 0 or nothing.
///
///     recorder.begin_step(plan);
///     for each operator i:  run it;  if (recorder.wants(i)) recorder.capture(i, inputs, outputs);
///     recorder.end_step();
template <class Memory>
class BasicRecorder {
 public:
  BasicRecorder() = default;
  BasicRecorder(const BasicRecorder&) = delete;
  BasicRecorder& operator=(const BasicRecorder&) = delete;

  /// Starts the plan's next execution; steps count from 0 since the model was loaded. `model_not_loaded`, `step_open`
  /// when the last step was not ended, or `invalid_argument` when another session has loaded the plan or this
  /// recorder has been taken back: nothing changes. A model runs one step at a time, on any recorder of its session.
  Status begin_step(ModelPlan& plan) { return begin_step(plan, plan.next_step); }

  /// The same for a runtime that counts steps itself.
  Status begin_step(ModelPlan& plan, std::uint64_t step);

  /// Opens a step of `plan` that another recorder of the session has begun, and counts none: for threads that
  /// run operators of one step together, each on a recorder of its own. `end_step` ends it for this recorder
  /// alone; whether the model's step has ended by then does not matter. Errors as `begin_step`. The calls of
  /// `begin_step` come before, and no two threads capture the same operator of a step at once, nor any two
  /// operators of a plan that watches.
  Status join_step(const ModelPlan& plan, std::uint64_t step);

  /// Whether the open step captures operator `op`; false when no step is open. `op` must be an index of the model.
  bool wants(std::size_t op) const { return bits_ != nullptr && bits_[op] != 0; }

  /// The same for any `op`, from the recorder's own context.
  bool wants_any(std::size_t op) const { return captures(own_plan(), op); }

  /// What the open step captures of each operator, as in `ModelPlan::bits`; null when the step captures
  /// nothing or no step is open.
  const std::uint8_t* bits() const { return bits_; }

  /// Captures operator `op` of the open step, which has just run; the call looks only at the role that the
  /// config asks for. It copies the tensors' bytes before it returns (through the ring, in pieces when they
  /// are larger). `ok` also when the operator is not wanted. `step_not_open` and `no_such_op` change nothing;
  /// after any other error this record is lost, counted, and leaves nothing in the dump. Capture an operator
  /// that overwrites its inputs with two calls: the inputs before it runs, the outputs after. Where the
  /// config asks for overflows, hand both over in one call after the run; they are captured only if the
  /// operator overflowed, and an error of the check counts as an error of a record.
  OPDUMP_HOT Status capture(std::size_t op, std::span<const TensorView> inputs,
                            std::span<const TensorView> outputs) {
    if constexpr (RingWriter<Memory>::kCopiesAtOnce) {
      const SentHeads::Entry* const sent = head_at_once(op, inputs.size(), outputs.size());
      if (sent == nullptr) [[unlikely]]
        return capture_apart(op, inputs, outputs);
      const Ring::Ahead chunk = sender().room_ahead(*sent);
      if (chunk.payload == nullptr) [[unlikely]]
        return capture_apart(op, inputs, outputs);
      if (!sender().record_at_once(*sent, chunk, inputs.data(), outputs.data())) [[unlikely]]
        return capture_apart(*sent, chunk.payload, inputs.data(), outputs.data());
      count_op_captured(*sent);
      return Status::ok;
    } else {
      const ModelPlan* plan = own_plan();
      if (!captures(plan, op)) return not_captured(plan, op);
      return capture_wanted(*plan, op, inputs, outputs);
    }
  }

  /// As `capture`, for an operator whose tensors cannot be handed over, because of `cause`: the record is
  /// lost and counted under that cause. Returns `cause`, or what `capture` would have returned before it
  /// looked at the tensors.
  Status refuse(std::size_t op, Status cause);

  /// `capture` if `cause` is `ok`, else `refuse`. Takes less code than a call of each.
  Status capture_unless(Status cause, std::size_t op, std::span<const TensorView> inputs,
                        std::span<const TensorView> outputs) {
    if (!build::kLean) return cause == Status::ok ? capture(op, inputs, outputs) : refuse(op, cause);
    const ModelPlan* plan = own_plan();
    if (!captures(plan, op)) return not_captured(plan, op);
    return cause == Status::ok ? capture_wanted(*plan, op, inputs, outputs) : refuse_wanted(*plan, op, cause);
  }

  /// As `capture`, for an operator of which the runtime knows that it overflowed, as `report` says: the outputs are
  /// not searched. Where the config asks for overflows, captures the operator with the report unless
  /// `overflow_number` of them have been captured; elsewhere, and without OPDUMP_FAULTS, the report is dropped.
  Status capture_overflow(std::size_t op, std::span<const TensorView> inputs,
                          std::span<const TensorView> outputs, const OverflowReport& report);

  /// Operators that overflowed where a config asks for overflows, captured or not. Any context may ask.
  std::uint32_t overflows() const { return overflow_.count(); }

  /// From the recorder's own context, or while it rests.
  FirstBadOp first_bad_op() const { return overflow_.first; }

  /// Says that operator `op` of the open step begins to run, on these tensors and in `memory` (null: not known), so
  /// that `capture_failure` can dump it when it fails, or `BasicSession::crash_flush` when the program dies in it.
  /// What is handed over must stay until the next operator begins or the step ends. When `op` is no index of the
  /// model, no operator runs any more. Costs a few stores, and nothing without OPDUMP_FAULTS.
  void begin_op(std::size_t op, std::span<const TensorView> inputs, std::span<const TensorView> outputs,
                const OpMemory* memory = nullptr);

  /// Says that no operator runs any more: what `begin_op` was given need not stay.
  void end_op();

  /// Captures the operator that began last and that the runtime found to have failed, if the config asks for
  /// that; `step_not_open`, or `no_such_op` when none has begun. Memory that cannot be read becomes zeros.
  /// `not_supported` without OPDUMP_FAULTS.
  Status capture_failure();

  /// How often a watched operator's output was found overwritten. Any context may ask.
  std::uint32_t overwrites() const { return watch_.count(); }

  /// From the recorder's own context, or while it rests.
  Overwrite first_overwrite() const { return watch_.first; }

  /// Ends the open step; `step_not_open` without one. One that another recorder has begun goes on.
  Status end_step();

  /// As `end_step`, but the model's step goes on also if this recorder has begun it: for threads that join it
  /// one operator at a time. `finish_step` says when it has ended.
  Status leave_step();

  /// Says that step `step` of `plan`, which some recorder of the session has begun and left, has ended. While
  /// no step is open on this recorder, and none of its contexts is in the step any more. Only triggers of a
  /// step's latency need it.
  void finish_step(const ModelPlan& plan, std::uint64_t step);

  /// Whether operators run outside a model are captured.
  bool wants_single_ops() const {
    return !sender().feed().is_attached_to(nullptr) && sender().context().single_ops;
  }

  /// Captures an operator that has just run outside any model. Errors as `capture`; `invalid_argument` when
  /// this recorder has been taken back.
  Status capture_single_op(const OpDesc& op, std::span<const TensorView> inputs,
                           std::span<const TensorView> outputs);

  /// As `refuse`, for an operator that has run outside any model.
  Status refuse_single_op(const OpDesc& op, Status cause);

  /// The plan whose step is open, null without one. Any context may ask; the answer may be old at once.
  const ModelPlan* open_plan() const {
    // acquire: when it says that no step is open, the plan is out of use; pairs with the release in `end_step`.
    return plan_.load(std::memory_order_acquire);
  }

  /// How many operators that ran outside a model came while they were wanted, as a count that goes round. Any
  /// context may ask.
  std::uint32_t single_ops() const { return single_ops_.load(std::memory_order_relaxed); }

  /// For the session, which attaches, counts and drains it.
  RecordSender<Memory>& sender() { return splitter_.sender(); }
  const RecordSender<Memory>& sender() const { return splitter_.sender(); }

 private:
  /// `open_plan`, asked by the context that sets it.
  const ModelPlan* own_plan() const { return plan_.load(std::memory_order_relaxed); }

  /// As `wants`, for any `op`. `plan` is the open one.
  bool captures(const ModelPlan* plan, std::size_t op) const {
    return bits_ != nullptr && op < plan->bits.size() && bits_[op] != 0;
  }

  /// Counts a record of operator `op` of the open step that is in the ring.
  void count_op_captured(const SentHeads::Entry& sent) const {
    const ModelPlan& plan = *own_plan();
    if (!plan.op_counts.empty()) sender().count_op_captured(plan, sent.op);
  }

  /// What is said of an operator that is not captured.
  static Status not_captured(const ModelPlan* plan, std::size_t op);
  /// What is said of an operator outside any model that is not captured.
  Status no_single_ops() const;

  /// The head that operator `op`, which has so many tensors, was sent with, if the open step captures it and
  /// nothing else is to be done than to capture all of its tensors; else null.
  [[gnu::always_inline]] const SentHeads::Entry* head_at_once(std::size_t op, std::size_t inputs,
                                                              std::size_t outputs) const {
    const auto all_bits = bits_;
    if (all_bits == nullptr) return nullptr;
    const SentHeads::Entry* const sent = sender().head_at_once(*own_plan(), op);
    if (sent == nullptr) return nullptr;
    const std::uint8_t bits = all_bits[op];
    if (is_special(bits)) [[unlikely]] {
      // Of a role of which no tensor ever comes, none is seen now.
      const unsigned unseen = (inputs == 0 ? kNoInputs : 0u) | (outputs == 0 ? kNoOutputs : 0u);
      if (is_special(static_cast<std::uint8_t>(bits & ~unseen))) return nullptr;
    }
    // A role that the plan does not capture is not in the head.
    const bool same = (inputs == sent->input_count || (bits & kCaptureInputs) == 0) &&
                      (outputs == sent->output_count || (bits & kCaptureOutputs) == 0);
    return same ? sent : nullptr;
  }

  /// `capture`, whatever it takes.
  OPDUMP_APART Status capture_apart(std::size_t op, std::span<const TensorView> inputs,
                                    std::span<const TensorView> outputs) {
    const ModelPlan* plan = own_plan();
    if (!captures(plan, op)) return not_captured(plan, op);
    return capture_wanted(*plan, op, inputs, outputs);
  }

  /// The same for an operator with as many tensors as its head was sent with, which the open step captures.
  /// `record_at_once` made no record in `chunk`.
  OPDUMP_APART Status capture_apart(const SentHeads::Entry& sent, const std::byte* chunk,
                                    const TensorView* inputs, const TensorView* outputs) {
    const ModelPlan& plan = *own_plan();
    const std::uint64_t unix_us = sender().time_at_once(chunk);
    sender().begin_timed_record(plan.target);
    return capture_timed(plan, sent.op, unix_us, {{inputs, sent.input_count}, {outputs, sent.output_count}});
  }

  /// `capture` of a wanted operator.
  [[gnu::always_inline]] Status capture_wanted(const ModelPlan& plan, std::size_t op,
                                               std::span<const TensorView> inputs,
                                               std::span<const TensorView> outputs) {
    if constexpr (build::kLean && build::kOverflow) return capture_in_parts(op, {inputs, outputs});
    const std::uint8_t bits = bits_[op];
    if (is_special(bits)) [[unlikely]] {
      Status status;
      if (!capture_specially(plan, op, {inputs, outputs}, status)) return status;
    }
    return capture_listed(plan, op, select(bits, inputs, outputs));
  }

  /// `refuse` of a wanted operator.
  Status refuse_wanted(const ModelPlan& plan, std::size_t op, Status cause);

  static constexpr bool is_special(std::uint8_t bits);
  static CapturedTensors select(std::uint8_t bits, std::span<const TensorView> inputs,
                                std::span<const TensorView> outputs);
  Status capture_listed(const ModelPlan& plan, std::size_t op, const CapturedTensors& tensors);
  Status capture_timed(const ModelPlan& plan, std::size_t op, std::uint64_t unix_us,
                       const CapturedTensors& tensors);
  bool capture_specially(const ModelPlan& plan, std::size_t op, CapturedTensors tensors, Status& status);
  Status capture_in_parts(std::size_t op, const CapturedTensors& tensors);
  Status capture_if_overflowed(std::size_t op, const CapturedTensors& tensors);
  Status capture_small(std::size_t op, const CapturedTensors& tensors);
  void see(const ModelPlan& plan, std::size_t op, const CapturedTensors& tensors);
  void tell_doubtful(const ModelPlan& plan, std::size_t op, const CapturedTensors& tensors);
  void count_single_op();
  void note_seen(const ModelPlan& plan, std::size_t op, bool inputs, bool outputs);

  [[no_unique_address]] RecordSplitter<Memory> splitter_;
  decltype(ModelPlan::bits)::pointer bits_ = nullptr;  ///< null: the step is not wanted, or none is open
  std::atomic<const ModelPlan*> plan_{nullptr};
  [[no_unique_address]] Maybe<build::kFaults, RunningOp> running_{};
  [[no_unique_address]] Maybe<!build::kLean, std::atomic<std::uint32_t>> single_ops_{0u};
  [[no_unique_address]] OverflowTally overflow_;
  [[no_unique_address]] WatchTally watch_;
};

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump
#endif

#include "opdump/impl/recorder.inl"
