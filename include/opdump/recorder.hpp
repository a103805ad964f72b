#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <new>
#include <span>

#include "opdump/counts.hpp"
#include "opdump/exception_capture.hpp"
#include "opdump/known_heads.hpp"
#include "opdump/model_plan.hpp"
#include "opdump/nano_record.hpp"
#include "opdump/overflow.hpp"
#include "opdump/overflow_capture.hpp"
#include "opdump/record.hpp"
#include "opdump/record_feed.hpp"
#include "opdump/recorder_context.hpp"
#include "opdump/ring.hpp"
#include "opdump/small_overflow.hpp"
#include "opdump/targets.hpp"
#include "opdump/watch_capture.hpp"

namespace opdump {
inline namespace OPDUMP_NAMESPACE {

/// A recorder's counts of one group of records.
using RecorderCounts = CountBlock<DumpCount::wanted, DumpCount::last_recorder_cause>;

/// One context that captures: a thread, a stream, an interrupt handler. Wait-free but for what `WhenFull`
/// allows. All calls on one recorder come from its own context, one at a time.
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

  /// Starts the plan's next execution; steps count from 0 since the model was loaded. `model_not_loaded`, or
  /// `step_open` when the last step was not ended: nothing changes. Models run one step at a time, on any
  /// recorder.
  Status begin_step(ModelPlan& plan) { return begin_step(plan, plan.next_step); }

  /// The same for a runtime that counts steps itself.
  Status begin_step(ModelPlan& plan, std::uint64_t step) {
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
  /// check counts as such of a record. Compiled out, it is always `ok`.
  Status capture(std::size_t op, std::span<const TensorView> inputs, std::span<const TensorView> outputs) {
    if (!OPDUMP_ENABLED) return Status::ok;
    const ModelPlan* plan = own_plan();
    if (!captures(plan, op)) return not_captured(plan, op);
    const std::uint8_t bits = bits_[op];
#if OPDUMP_SMALL_CODE && OPDUMP_OVERFLOW
    if ((bits & kCheckOverflow) != 0) return capture_if_overflowed(op, inputs, outputs);
#endif
#if OPDUMP_FAULTS
    if ((bits & kCheckOverflow) != 0) {
      const Status overflow = OverflowCapture<BasicRecorder>(*this, *plan, op, {inputs, outputs}).check();
      if ((bits & (kCaptureInputs | kCaptureOutputs)) == 0 || overflow != Status::ok) return overflow;
    }
    if (!plan->watch.ops.empty()) return WatchCapture<BasicRecorder>(*this, *plan, op, outputs).take();
#endif
    const CapturedTensors tensors = select(bits, inputs, outputs);
#if OPDUMP_SMALL_CODE == 0
    if ((bits & kLeaveOut) != 0) return capture_remaining(*plan, op, tensors);
#endif
    const std::uint64_t unix_us = begin_record(plan->target);
    feed_.prepare(plan->model->ops[op].stream_id);
#if OPDUMP_SMALL_CODE && OPDUMP_OVERFLOW
    return take_small(plan->model->ops[op], *plan, unix_us, tensors);
#elif OPDUMP_SMALL_CODE
    RecordSource source = describe(plan->model->ops[op], plan, plan->target, unix_us, tensors);
    return take(source, true);
#else
    Status status;
    return record_again(*plan, op, unix_us, tensors, status) ? status : take_new(*plan, op, unix_us, tensors);
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
    return overflow_.found.value();
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
    const ModelPlan* plan = open_plan();
    if (!OPDUMP_ENABLED || bits_ == nullptr || plan == nullptr || op >= plan->model->ops.size()) return;
    running_ = {&plan->model->ops[op], inputs, outputs, memory};
  }

  /// Captures the operator that began last, which the runtime found to have failed, if the config asks for
  /// that; `step_not_open`, or `no_such_op` when none has begun. Memory that cannot be read becomes zeros.
  Status capture_failure() {
    const ModelPlan* plan = open_plan();
    if (plan == nullptr) return Status::step_not_open;
    if (!context().failures || bits_ == nullptr) return Status::ok;
    if (running_.op == nullptr) return Status::no_such_op;
    return ExceptionCapture<BasicRecorder>(*this, *plan, running_).take();
  }

  /// Times that a watched operator's output was found overwritten. Any context may ask.
  std::uint32_t overwrites() const {
    return watch_.overwrites.value();
  }

  /// From the recorder's own context, or while it rests.
  const Overwrite& first_overwrite() const {
    return watch_.first;
  }
#endif

  /// Ends the open step; `step_not_open` without one.
  Status end_step() {
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
    return plan_.load(std::memory_order_acquire);
  }

  /// Adds this recorder's counts of the records of group `group` (`Targets::counted`) to `counts`. Any
  /// context may ask.
  void add_counts(std::size_t group, DumpCounts& counts) const {
    counts_[group].add_to(counts);
  }

  // For the session.

  Status attach(const RecorderContext<Memory>& context, std::size_t slot, MutableBytes ring_memory,
                std::span<SentHeads::Entry> head_memory) {
    sent_.reset(head_memory);
    gap_ = {};
    return feed_.attach(context, slot, ring_memory);
  }

  /// While it captures nothing of group `group`.
  void clear_counts(std::size_t group) {
    counts_[group].clear();
  }

  std::size_t slot() const {
    return feed_.slot();
  }
  std::uint32_t next_sequence() const {
    return sequence_;
  }
  /// What was lost without a trace since the last trace in the ring.
  const LossGap& gap() const {
    return gap_;
  }
  /// Whether its backend still writes to the ring.
  bool at_rest() {
    return feed_.at_rest();
  }
  Ring& ring() {
    return feed_.ring();
  }
  const Ring& ring() const {
    return feed_.ring();
  }

 private:
  template <class Recorder>
  friend class OverflowCapture;
  template <class Recorder>
  friend class WatchCapture;
  template <class Recorder>
  friend class ExceptionCapture;

  const RecorderContext<Memory>& context() const {
    return feed_.context();
  }

  /// `open_plan`, asked by the context that sets it.
  const ModelPlan* own_plan() const {
    return plan_.load(std::memory_order_relaxed);
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

  void count(std::uint8_t target, DumpCount what) {
    counts_[Targets::counted(target)].add_one(what);
  }

#if OPDUMP_SMALL_CODE
  void count_for(const ModelPlan&, std::size_t) {}
  void count_for_none() {}
  void count_op(Status) const {}
#else
  void count_for(const ModelPlan& plan, std::size_t op) {
    op_counts_ = plan.op_counts.empty() ? nullptr : &plan.op_counts[op];
  }
  void count_for_none() {
    op_counts_ = nullptr;
  }
  void count_op(Status status) const {
    if (op_counts_ == nullptr) return;
    OpCounts& counts = *op_counts_;
    ++counts.wanted;
    counts.captured += status == Status::ok ? 1 : 0;
    counts.degraded += status == Status::degraded ? 1 : 0;
    if (status == Status::ok || status == Status::degraded) return;
    ++counts[recorder_cause(status)];
    counts.cut_short += begun_ ? 1 : 0;
    // Not the sum of all causes: the sink's may change meanwhile.
    counts.lost_steps.add(step_, counts.wanted - counts.captured - counts.degraded == 1);
  }
#endif

  static CapturedTensors select(std::uint8_t bits, std::span<const TensorView> inputs,
                                std::span<const TensorView> outputs) {
    return {.inputs = inputs.first((bits & kCaptureInputs) != 0 ? inputs.size() : 0),
            .outputs = outputs.first((bits & kCaptureOutputs) != 0 ? outputs.size() : 0)};
  }

  RecordSource describe(const OpDesc& op, const ModelPlan* plan, std::uint8_t target, std::uint64_t unix_us,
                        const CapturedTensors& tensors) const {
    return {
      .op = &op, .plan = plan, .target = &(*context().targets)[target], .step = plan != nullptr ? step_ : 0,
      .unix_us = unix_us, .sequence = 0,
#if OPDUMP_SMALL_CODE == 0
      .known_as = kNotKnown,
#endif
      .target_index = target, .first_index = 0, .tensors = tensors
    };
  }

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
  // Not in `capture`, which would need room on the stack for all of this and `take_small` at once.
  [[gnu::noinline]] Status capture_if_overflowed(std::size_t op, std::span<const TensorView> inputs,
                                                 std::span<const TensorView> outputs) {
    const ModelPlan& plan = *own_plan();
    const CapturedTensors tensors = {inputs, outputs};
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

  /// Takes a record of the open step, which has begun at `unix_us`. Not in `capture` either.
  [[gnu::noinline]] Status take_small(const OpDesc& op, const ModelPlan& plan, std::uint64_t unix_us,
                                      const CapturedTensors& tensors) {
    RecordSource source = describe(op, &plan, plan.target, unix_us, tensors);
    return take(source, true);
  }
#endif

  /// Makes of `source`, which is used up, the records that its target wants, the first of which has begun;
  /// the first status of theirs that is not `ok`. `in_plan`: its head may come again.
  Status take(RecordSource& source, bool in_plan) {
#if OPDUMP_SMALL_CODE
    return take_whole(source, in_plan);
#else
    if (!source.target->split || !has_bytes(source.tensors)) return take_whole(source, in_plan);
    const std::uint16_t* const indexes = source.indexes;
    source.indexes = nullptr;
    Status status = Status::ok;
    const CapturedTensors all = source.tensors;
    bool begun = true;
    const auto take_each = [&](std::span<const TensorView> tensors, std::span<const TensorView>& role,
                               const std::uint16_t* at) {
      source.tensors = {};
      for (std::size_t i = 0; i < tensors.size(); ++i) {
        role = tensors.subspan(i, 1);
        source.first_index = at != nullptr ? at[i] : static_cast<std::uint16_t>(i);
        if (!begun) source.unix_us = begin_record(source.target_index);
        begun = false;
        const Status of_one = take_restored(source, role);
        if (status == Status::ok) status = of_one;
      }
    };
    take_each(all.inputs, source.tensors.inputs, indexes);
    take_each(all.outputs, source.tensors.outputs,
              indexes != nullptr ? indexes + all.inputs.size() : nullptr);
    return status;
#endif
  }

#if OPDUMP_SMALL_CODE == 0
  /// Captures of `tensors` what the config does not leave out.
  [[gnu::noinline]] Status capture_remaining(const ModelPlan& plan, std::size_t op,
                                             const CapturedTensors& tensors) {
    count_for(plan, op);
    const OpDesc& desc = plan.model->ops[op];
    const RemainingTensors remaining(plan, desc, tensors);
    const std::uint64_t unix_us = begin_record(plan.target);
    feed_.prepare(desc.stream_id);
    RecordSource source = describe(desc, &plan, plan.target, unix_us, remaining.tensors());
    source.indexes = remaining.indexes();
    return remaining.fit() ? take(source, false) : lose_unseen(source, Status::too_many_tensors);
  }

  /// Captures what the drainer does not know the head of.
  [[gnu::noinline]] Status take_new(const ModelPlan& plan, std::size_t op, std::uint64_t unix_us,
                                    const CapturedTensors& tensors) {
    count_for(plan, op);
    RecordSource source = describe(plan.model->ops[op], &plan, plan.target, unix_us, tensors);
    return take(source, true);
  }

  /// As the framework has it, if the config wants that and it can be had. `role` is the list of `one` that
  /// has its only tensor.
  Status take_restored(RecordSource& one, std::span<const TensorView>& role) {
    Restorer* const restorer = one.target->default_format ? context().restorer : nullptr;
    if (restorer != nullptr) {
      TensorView tensor = role[0];
      if (restorer->restore(slot(), tensor)) role = {&tensor, 1};
      return take_sampled(one, role);
    }
    return take_sampled(one, role);
  }

  Status take_sampled(RecordSource& one, std::span<const TensorView>& role) {
    const DumpTarget& target = *one.target;
    // Source: MindSpore writes nothing of an empty tensor.
    const bool keep_empty = target.layout == Layout::cann;
    const Result<std::uint64_t> count = element_count(role[0].shape);
    if (target.sample_number == 0 || !count.ok() || count.value() <= target.sample_number)
      return take_whole(one, false, keep_empty);
    const Dim number = target.sample_number;
    TensorView first = role[0];
    first.shape = first.original_shape = {&number, 1};
    const std::uint64_t bytes = (number * codes_of(first.dtype).bits + 7) / 8;
    if (bytes <= first.bytes) first.bytes = bytes;
    role = {&first, 1};
    return take_whole(one, false, keep_empty);
  }
#endif

  /// As `take`, without splitting.
  Status take_whole(RecordSource& source, bool may_come_again, bool keep_empty = false) {
    const DumpTarget& target = *source.target;
    if (OPDUMP_STATISTICS == 0 || target.data == DumpData::tensor)
      return record(source, may_come_again, keep_empty);
    if (target.data == DumpData::statistics) return record(source, false, false, true);
    // A record that is given up loses its tensors.
    const CapturedTensors tensors = source.tensors;
    const Status status = record(source, false, keep_empty);
    source.tensors = tensors;
    count(source.target_index, DumpCount::wanted);
    const Status of_reduced = record(source, false, false, true);
    return status == Status::ok ? of_reduced : status;
  }

  static bool has_bytes(const CapturedTensors& tensors) {
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      if (tensors[i].bytes != 0) return true;
    }
    return false;
  }

  /// `reduced`: what the config wants instead of the tensors.
  Status record(RecordSource& source, [[maybe_unused]] bool may_come_again, bool keep_empty,
                bool reduced = false) {
    RecordBytes bytes;
    Status status = measure_whole_record(source, bytes);
    if (status == Status::ok && bytes.data == 0 && !keep_empty) return skip_empty(source.target_index);
    source.sequence = sequence_++;
    begun_ = false;
#if OPDUMP_SMALL_CODE == 0
    if (status == Status::ok && may_come_again)
      source.known_as = sent_.number_for(source.plan->load, source.op_index(), bytes.head);
#endif
    if (status == Status::ok)
      status = OPDUMP_STATISTICS != 0 && reduced ? put_reduced(source, bytes.head, Status::ok)
                                                 : put(source, bytes);
    if (status != Status::ok) status = give_up(source, status, OPDUMP_STATISTICS == 0 || !reduced);
    return end_record(source.target_index, status);
  }

  Status skip_empty(std::uint8_t target) {
    count(target, DumpCount::empty);
    count_op(Status::ok);
    return Status::ok;
  }

  /// Returns the time. Comes first in a record: what follows runs while the clock is being read.
  std::uint64_t begin_record(std::uint8_t target) {
    const std::uint64_t unix_us = context().clock->unix_us();
    count(target, DumpCount::wanted);
    feed_.begin_record();
    return unix_us;
  }

  Status end_record(std::uint8_t target, Status status) {
    count_op(status);
    if (status == Status::ok) count(target, DumpCount::captured);
    feed_.wake_if_crowded();
    return status;
  }

  /// `more_follows`: its last chunk is not among these.
  Status put(const RecordSource& source, const RecordBytes& bytes, bool more_follows = false) {
    const bool goes_on = OPDUMP_FAULTS != 0 && more_follows;
    // At most what `measure_record` allows.
    const std::uint32_t first_bytes = sizeof(ChunkHead) + bytes.head;
    const std::uint32_t most = ring().max_chunk();
    if (first_bytes > most) return Status::too_large;
    const bool whole = bytes.data <= most - first_bytes;
    const std::uint32_t chunk_bytes = first_bytes + (whole ? static_cast<std::uint32_t>(bytes.data) : 0);
    MutableBytes chunk;
    Status status = feed_.room(chunk_bytes, chunk_bytes, chunk);
    if (status != Status::ok) return status;
    ::new (chunk.data())
        ChunkHead(chunk_head(ChunkKind::record, whole && !goes_on, Status::ok, gap_, bytes.head));
    const MutableBytes head = chunk.subspan(sizeof(ChunkHead), bytes.head);
    encode_whole_record(source, bytes.head, head.data());
    if (whole) status = feed_.copy(head.data() + bytes.head, source.tensors);
    if (status != Status::ok) return status;
    commit_first(chunk_bytes);
    begun_ = !whole || goes_on;
#if OPDUMP_SMALL_CODE == 0
    if (source.known_as != kNotKnown) sent_.keep(head, source, bytes.data, ring().max_chunk());
#endif
    // A byte that never comes keeps the last chunk from being so.
    return whole ? Status::ok : stream(source.tensors, bytes.data + (goes_on ? 1 : 0), bytes.head);
  }

#if OPDUMP_SMALL_CODE == 0
  /// Makes the record that has begun an `again` chunk; `status` is what became of it. False, with nothing
  /// changed, when the drainer does not know its head or there is no room: `take_new` then has to see to it.
  [[gnu::always_inline]] bool record_again(const ModelPlan& plan, std::size_t op, std::uint64_t unix_us,
                                           const CapturedTensors& tensors, Status& status) {
    const SentHeads::Entry* const sent = sent_.find(plan.load, op, tensors);
    MutableBytes chunk;
    if (sent == nullptr || feed_.room(sent->chunk_bytes, sent->chunk_bytes, chunk) != Status::ok)
      return false;
    std::byte* const to = sent->put_addresses(chunk.data() + sizeof(ChunkHead) + sizeof(AgainHead), tensors);
    if (to == nullptr) return false;
    const std::uint32_t sequence = sequence_++;
    ::new (chunk.data()) ChunkHead(sent->again.with(gap_));
    ::new (chunk.data() + sizeof(ChunkHead)) AgainHead{unix_us, step_, sequence, sent->number};
    if (sent->again.last()) {
      status = feed_.copy(to, tensors);
      if (status == Status::ok) {
        commit_first(sent->chunk_bytes);
      } else {
        begun_ = false;
      }
    } else {
      commit_first(sent->chunk_bytes);
      begun_ = true;
      status = stream(tensors, sent->data_bytes, sent->head_bytes);
    }
    if (status != Status::ok) status = give_up_again(plan, op, unix_us, sequence, tensors, status);
    count_for(plan, op);
    status = end_record(plan.target, status);
    return true;
  }

  [[gnu::noinline]] Status give_up_again(const ModelPlan& plan, std::size_t op, std::uint64_t unix_us,
                                         std::uint32_t sequence, const CapturedTensors& tensors,
                                         Status cause) {
    RecordSource source = describe(plan.model->ops[op], &plan, plan.target, unix_us, tensors);
    source.sequence = sequence;
    return give_up(source, cause);
  }
#endif

  /// Makes the chunk visible that a record begins with; it tells of the gap before it.
  void commit_first(std::uint32_t bytes) {
    ring().commit(bytes);
    gap_ = {};
  }

  /// Sends the tensors of a record whose head is `head_bytes` long when it is whole.
  Status stream(const CapturedTensors& tensors, DataBytes data_bytes, std::uint32_t head_bytes) {
    return feed_.stream(tensors, data_bytes, degrade_headroom(tensors.size(), head_bytes));
  }

  /// Bytes of the ring that a streamed record leaves free, so that its reduced form finds room when it has to
  /// be given up: one piece, and that form twice, as it may have to skip the end of the ring.
  std::uint32_t degrade_headroom(std::uint64_t tensors, std::uint32_t head_bytes) const {
    if (OPDUMP_DEGRADE == 0 || context().when_full != WhenFull::degrade || context().reduction == nullptr)
      return 0;
    const auto reduced = reduced_bytes(tensors, head_bytes) - sizeof(ChunkHead);
    const auto headroom = ring().size() / 4 + Ring::kGranule + 2 * (reduced + 2 * Ring::kGranule);
    return headroom < ring().size() ? static_cast<std::uint32_t>(headroom) : ring().size();
  }

  /// Puts what can be kept of a record into the ring that could not be put there whole, if it may be
  /// degraded, and counts it: `degraded`, or `cause` when it is lost.
  Status give_up(RecordSource& source, Status cause, bool may_degrade = true) {
#if OPDUMP_SMALL_CODE == 0
    source.known_as = kNotKnown;
#endif
    const Status status = may_degrade ? degrade(source, cause) : cause;
    if (OPDUMP_DEGRADE != 0 && status == Status::degraded) {
      count(source.target_index, DumpCount::degraded);
    } else {
      lose(source, status);
    }
    return status;
  }

  /// The reduced form of the record instead of the tensors that there was no room for; `degraded` when it is
  /// in the ring.
  Status degrade(RecordSource& source, Status cause) {
    if (OPDUMP_DEGRADE == 0 || context().when_full != WhenFull::degrade || context().reduction == nullptr ||
        cause != Status::ring_full || !feed_.at_rest())
      return cause;
#if OPDUMP_SMALL_CODE && OPDUMP_OVERFLOW
    if (feed_.has_report()) return cause;
#endif
    RecordBytes bytes;
    Status status = OPDUMP_SMALL_CODE != 0 ? Status::ok : measure_record(source, bytes);
    if (status == Status::ok) status = put_reduced(source, bytes.head, cause);
    return status == Status::ok ? Status::degraded : status;
  }

  /// Bytes of the chunk that holds the reduced form of a record.
#if OPDUMP_SMALL_CODE
  static std::uint32_t reduced_bytes(std::uint64_t tensors, std::uint32_t head_bytes) {
    return static_cast<std::uint32_t>(sizeof(ChunkHead)) + head_bytes + Reduction::kUsualBytes +
           static_cast<std::uint32_t>(tensors) * Reduction::kUsualTensorBytes;
  }
#else
  std::uint64_t reduced_bytes(std::uint64_t tensors, std::uint32_t head_bytes) const {
    return sizeof(ChunkHead) + head_bytes + tensors * context().reduction->bytes_per_tensor();
  }
#endif

  /// Puts the reduced form of the record, which was measured, into the ring. `cause`: why its tensors are not
  /// there; `ok`: they are not wanted.
  Status put_reduced(const RecordSource& source, std::uint32_t head_bytes, Status cause) {
#if OPDUMP_SMALL_CODE
    head_bytes = static_cast<std::uint32_t>(padded_bytes(plain_head_bytes(source)));
#endif
    const std::uint32_t most = ring().max_chunk();
    const auto bytes = reduced_bytes(source.tensors.size(), head_bytes);
    if (bytes > most) return cause == Status::ok ? Status::too_large : cause;
    std::uint32_t least = static_cast<std::uint32_t>(bytes);
    MutableBytes chunk;
#if OPDUMP_SMALL_CODE
    // Rows seldom take more; when they do, all is made room for that may be had.
    for (;; least = most) {
      Status status = feed_.room(least, most, chunk);
      if (status == Status::ok) status = reduce_into(chunk, source, head_bytes, cause);
      if (status != Status::too_large || least == most) return status;
    }
#else
    const Status status = feed_.room(least, least, chunk);
    return status == Status::ok ? reduce_into(chunk, source, head_bytes, cause) : status;
#endif
  }

  Status reduce_into(MutableBytes chunk, const RecordSource& source, std::uint32_t head_bytes, Status cause) {
    std::uint32_t bytes = sizeof(ChunkHead) + head_bytes;
#if OPDUMP_SMALL_CODE
    const MutableBytes room = chunk.subspan(bytes);
    TextWriter file({reinterpret_cast<char*>(room.data()), room.size()});
    const Status status = context().reduction->write(*source.target, source.tensors, file);
    if (status != Status::ok) return status;
    if (file.overflowed()) return Status::too_large;
    bytes += static_cast<std::uint32_t>(file.text().size());
    const CapturedTensors described = {};
#else
    const CapturedTensors& described = source.tensors;
    for (std::size_t i = 0; i < described.size(); ++i, bytes += context().reduction->bytes_per_tensor()) {
      const Status status = context().reduction->reduce(*source.target, described[i], chunk.data() + bytes);
      if (status != Status::ok) return status;
    }
#endif
    const ChunkHead head = chunk_head(ChunkKind::reduced, true, cause, gap_, head_bytes);
    std::memcpy(chunk.data(), &head, sizeof head);
    encode_record(source, described, 0, chunk.data() + sizeof head);
    ring().commit(bytes);
    gap_ = {};
    return Status::ok;
  }

  Status lose_unseen(RecordSource& source, Status cause) {
    source.sequence = sequence_++;
    begun_ = false;
    lose(source, cause);
    return end_record(source.target_index, cause);
  }

  /// Counts a lost record, and leaves a trace of it in the ring or remembers that there is none. Leaves the
  /// tensors out of `source`.
  void lose(RecordSource& source, Status status) {
    const LossCause cause = recorder_cause(status);
    count(source.target_index, count_of(cause));
    if (begun_) count(source.target_index, DumpCount::cut_short);
    // Without a journal nobody asks, and the next record's begin gives up what has begun.
    if (OPDUMP_JOURNAL == 0) return;
    if (put_loss(source, status)) {
      gap_ = {};
    } else {
      gap_.add(cause, source.target->number);
    }
  }

#if OPDUMP_OVERFLOW
  /// Counts a record that was wanted, has begun, and never came into the ring; its number is used up.
  Status lose_untraced(std::uint8_t target, Status status) {
    ++sequence_;
    begun_ = false;
    const LossCause cause = recorder_cause(status);
    count(target, count_of(cause));
    gap_.add(cause, (*context().targets)[target].number);
    return end_record(target, status);
  }
#endif

  bool put_loss(RecordSource& source, Status cause) {
    source.tensors = {};
    RecordBytes bytes;
    if (measure_record(source, bytes) != Status::ok) return false;
    const std::uint32_t chunk_bytes = sizeof(ChunkHead) + bytes.head;
    const MutableBytes chunk = feed_.room_at_once(chunk_bytes);
    if (chunk.data() == nullptr) return false;
    const ChunkHead head = chunk_head(ChunkKind::lost, false, cause, gap_, bytes.head);
    std::memcpy(chunk.data(), &head, sizeof head);
    encode_record(source, {}, 0, chunk.data() + sizeof head);
    ring().commit(chunk_bytes);
    return true;
  }

  // First, so that what follows goes where its alignment leaves room at its end.
  [[no_unique_address]] RecordFeed<Memory> feed_;
  const std::uint8_t* bits_ = nullptr;  ///< null: the step is not wanted, or none is open
  std::atomic<const ModelPlan*> plan_{nullptr};
  std::uint32_t sequence_ = 0;
  std::uint64_t step_ = 0;
  bool begun_ = false;  ///< the latest record, in the ring; not kept of one that is captured
  [[no_unique_address]] LossGap gap_;
#if OPDUMP_SMALL_CODE == 0
  OpCounts* op_counts_ = nullptr;  ///< of the operator that is captured; null: not counted
#endif
  [[no_unique_address]] SentHeads sent_;
  RecorderCounts counts_[Targets::kCounted];
#if OPDUMP_FAULTS
  RunningOp running_;
#endif
  [[no_unique_address]] OverflowTally overflow_;
  [[no_unique_address]] WatchTally watch_;
};

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump
