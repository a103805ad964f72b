#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <optional>
#include <span>
#include <type_traits>

#include "opdump/base/build.hpp"
#include "opdump/impl/capture/recorder_context.hpp"
#include "opdump/impl/capture/ring_writer.hpp"
#include "opdump/impl/capture/sent_heads.hpp"
#include "opdump/impl/record/record_encoder.hpp"
#include "opdump/impl/record/targets.hpp"
#include "opdump/impl/record/untraced_losses.hpp"
#include "opdump/impl/record/wire_described.hpp"
#include "opdump/impl/record/wire_finished.hpp"
#include "opdump/ring.hpp"
#include "opdump/types/counts.hpp"
#include "opdump/types/plan.hpp"

namespace opdump {
inline namespace OPDUMP_NAMESPACE {

/// How records pass through the rings of this build; recorder and drainer share it.
using Wire = std::conditional_t<build::kLean, FinishedWire, DescribedWire>;

/// Numbers a recorder's records, puts them into its ring, whole, behind a head that the drainer knows,
/// reduced or as a mark that they are lost, and counts what became of each. From the recorder's own context,
/// but for what says otherwise.
template <class Memory>
class RecordSender {
 public:
  /// Adds this recorder's counts of the records of group `group` (`Targets::counted`, below `kCounted`) to
  /// `counts`. Any context may ask.
  void add_counts(std::size_t group, DumpCounts& counts) const { counts_[group].add_to(counts); }

  // For the session.

  Status attach(const RecorderContext<Memory>& context, std::size_t slot, MutableBytes ring_memory,
                std::span<SentHeads::Entry> head_memory, std::optional<WhenFull> when_full) {
    sent_.reset(head_memory);
    untold_.clear();
    return feed_.attach(context, slot, ring_memory, when_full);
  }

  /// While it captures nothing of group `group`.
  void clear_counts(std::size_t group) { counts_[group].clear(); }

  std::size_t slot() const { return feed_.slot(); }
  std::uint32_t next_sequence() const { return sequence_; }
  const UntoldLosses& untold() const { return untold_; }
  Ring& ring() { return feed_.ring(); }
  const Ring& ring() const { return feed_.ring(); }

  // For those who make records.

  using Measured = typename Wire::Measured;

  const RecorderContext<Memory>& context() const { return feed_.context(); }
  RingWriter<Memory>& feed() { return feed_; }
  const RingWriter<Memory>& feed() const { return feed_; }

  /// Step of the records of a plan from now on.
  void set_step(std::uint64_t step) { step_ = step; }
  /// Their target.
  void set_target(std::uint8_t target) {
    if constexpr (!build::kLean) step_counts_ = &counts_of(target);
  }
  std::uint64_t step() const { return step_; }

  /// Number of a record that is put into the ring by other means.
  std::uint32_t take_number() { return sequence_++; }

  void count(std::uint8_t target, DumpCount what) { counts_of(target).add_one(what); }

  /// Says which operator's OpCounts the next records are of; a lean build has none.
  void count_for(const ModelPlan& plan, std::size_t op) {
    if (!build::kLean) op_counts_ = plan.op_counts.empty() ? nullptr : &plan.op_counts[op];
  }
  void count_for_none() { op_counts_ = nullptr; }

  RecordSource describe(const OpDesc& op, const ModelPlan* plan, std::uint8_t target, std::uint64_t unix_us,
                        const CapturedTensors& tensors) const {
    // Field by field, as in `encode_head`. Its number comes when it begins, or is lost.
    RecordSource source;
    source.op = &op;
    source.plan = plan;
    source.target = &(*context().targets)[target];
    source.step = plan != nullptr ? step_ : 0;
    source.unix_us = unix_us;
    source.known_as = kNotKnown;
    source.target_index = target;
    source.first_index = 0;
    source.tensors = tensors;
    return source;
  }

  /// Puts a record that `begin_record` was called for into the ring, or counts what became of it instead.
  Status record(RecordSource& source, bool may_come_again, bool keep_empty) {
    Measured bytes;
    Status status;
    if (!begin(source, bytes, keep_empty, status)) return skip_empty(source.target_index);
    if (!build::kLean && status == Status::ok && may_come_again)
      source.known_as = sent_.number_for(source.plan->load, source.op_index(), bytes.head);
    if (status == Status::ok) status = put(source, bytes);
    return settle(source, bytes, status);
  }

  /// What the config wants instead of the tensors. Not with `record`, which needs more stack.
  OPDUMP_APART Status record_reduced(RecordSource& source) {
    Measured bytes;
    Status status;
    if (lacks_rows(source) || !begin(source, bytes, false, status)) return skip_empty(source.target_index);
    if (status == Status::ok) status = Wire::put_reduced(*this, source, bytes, Status::ok);
    return settle(source, bytes, status, false);
  }

  /// What `reduce(i, to)` makes of each tensor of the source, for the session's KeptTable. Not with `record` either.
  template <class Reduce, class KeptWire = Wire>
  OPDUMP_APART Status record_kept(RecordSource& source, const Reduce& reduce) {
    Measured bytes;
    Status status;
    static_cast<void>(begin(source, bytes, true, status));
    if (status == Status::ok) status = KeptWire::put_kept(*this, source, bytes, reduce);
    return settle(source, bytes, status, false);
  }

  /// Measures a record, with `status`, and gives it its number. False, with nothing changed, when it has no
  /// byte and is not to be kept.
  bool begin(RecordSource& source, Measured& bytes, bool keep_empty, Status& status) {
    status = Wire::measure(source, bytes);
    if (status == Status::ok) {
      if (bytes.data == 0 && !keep_empty) return false;
    } else if constexpr (!build::kLean) {
      tell_faulty(source);
    }
    source.sequence = sequence_++;
    begun_ = false;
    return true;
  }

  Status skip_empty(std::uint8_t target) {
    count(target, DumpCount::empty);
    count_op(Status::ok);
    return Status::ok;
  }

  /// Returns the time. Comes first in a record: what follows runs while the clock is being read.
  std::uint64_t begin_record(std::uint8_t target) {
    const std::uint64_t unix_us = feed_.unix_us();
    begin_timed_record(target);
    return unix_us;
  }

  /// The same of a record whose time is known.
  [[gnu::always_inline]] void begin_timed_record(std::uint8_t target) {
    // On its own, not the sum of what became of them: a record that got lost on the way shows in the counts.
    counts_of(target).add_one(DumpCount::wanted);
    feed_.begin_record();
  }

  Status end_record(std::uint8_t target, Status status) {
    count_op(status);
    if (status == Status::ok) count(target, DumpCount::captured);
    feed_.wake_if_crowded();
    look_ahead();
    return status;
  }

  /// `more_follows`: its last chunk is not among these.
  Status put(const RecordSource& source, const Measured& bytes, bool more_follows = false) {
    const bool goes_on = build::kFaults && more_follows;
    // At most what `Wire::measure` allows.
    const std::uint32_t first_bytes = sizeof(ChunkHead) + bytes.head;
    const std::uint32_t most = ring().max_chunk();
    if (first_bytes > most) return Status::too_large;
    const bool whole = bytes.data <= most - first_bytes;
    const std::uint32_t chunk_bytes = first_bytes + (whole ? static_cast<std::uint32_t>(bytes.data) : 0);
    if (!whole && feed_.drops_at_once(first_bytes + bytes.data)) return Status::ring_full;
    {
      // Given back before the rest is sent, which takes chunks of its own.
      MutableBytes chunk;
      Status status = open(chunk_head(ChunkKind::record, whole && !goes_on, Status::ok, {}, bytes.head),
                           chunk_bytes, chunk_bytes, chunk);
      if (status != Status::ok) return status;
      const MutableBytes head = chunk.subspan(sizeof(ChunkHead), bytes.head);
      Wire::encode(source, bytes, head.data());
      if (whole) status = feed_.copy(head.data() + bytes.head, source.tensors);
      if (status != Status::ok) return status;
      commit(chunk_bytes);
      begun_ = !whole || goes_on;
      if (source.is_kept()) sent_.keep(head, source, bytes.data, most);
    }
    // A byte that never comes keeps the last chunk from being so.
    return whole ? Status::ok : stream(source.tensors, bytes.data + (goes_on ? 1 : 0), bytes.head);
  }

  /// Finds room for a chunk that is not `data`, as `Ring::reserve` gives it, and writes its head, which tells
  /// of the gap before it. Waits as WhenFull says.
  [[gnu::always_inline]] Status open(const ChunkHead& head, std::uint32_t least, std::uint32_t most,
                                     MutableBytes& chunk) {
    const Status status = feed_.room(least, most, chunk);
    if (status == Status::ok) ::new (chunk.data()) ChunkHead(head.with(untold_.gap()));
    return status;
  }

  /// Makes the open chunk visible: the gap is told.
  void commit(std::uint32_t bytes) {
    ring().commit(bytes);
    untold_.clear();
  }

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
    ChunkHead& head = *::new (chunk.data()) ChunkHead(sent->again);
    if (const LossGap gap = untold_.gap(); gap.causes != 0) [[unlikely]]
      head = sent->again.with(gap);
    ::new (chunk.data() + sizeof(ChunkHead)) AgainHead{unix_us, step_, sequence_++, sent->number};
    const bool whole = sent->again.last();
    if (!whole) {
      if (feed_.drops_at_once(sent->chunk_bytes + sent->data_bytes)) {
        --sequence_;
        return false;
      }
      commit(sent->chunk_bytes);
    }
    status = whole ? feed_.copy_now(to, tensors) : stream_again(*sent, tensors.inputs, tensors.outputs);
    if (status != Status::ok) [[unlikely]] {
      status = give_up_again(plan, *sent, unix_us, tensors.inputs, tensors.outputs, status);
      return true;
    }
    if (whole) commit(sent->chunk_bytes);
    count_captured(plan, op);
    feed_.wake_if_crowded();
    look_ahead();
    return true;
  }

  /// The head that was sent of operator `op`, if it came in one chunk with the tensors' bytes; else null.
  [[gnu::always_inline]] const SentHeads::Entry* head_at_once(const ModelPlan& plan, std::size_t op) const {
    const SentHeads::Entry* const sent = sent_.find_own(plan.load, op);
    return sent != nullptr && sent->again.last() ? sent : nullptr;
  }

  /// `room_ahead` for a record with that head.
  [[gnu::always_inline]] Ring::Ahead room_ahead(const SentHeads::Entry& sent) {
    return feed_.room_ahead(sent.chunk_bytes);
  }

  /// Makes the record in `chunk`, the room for it, of the tensors from `inputs` and `outputs` on. False, with
  /// nothing changed, when `sent` is not their head or they are not where the CPU reads them.
  [[gnu::always_inline]] bool record_at_once(const SentHeads::Entry& sent, const Ring::Ahead& chunk,
                                             const TensorView* inputs, const TensorView* outputs) {
    std::byte* const to = chunk.payload;
    const std::uint64_t unix_us = feed_.unix_us();
    ::new (to) ChunkHead(sent.again);
    ::new (to + sizeof(ChunkHead)) AgainHead{unix_us, step_, sequence_, sent.number};
    if (!sent.put_tensors(to + sizeof(ChunkHead) + sizeof(AgainHead), inputs, outputs, feed_)) return false;
    ++sequence_;
    RecorderCounts& counts = *step_counts_;
    counts.add_one(DumpCount::wanted);
    counts.add_one(DumpCount::captured);
    ring().commit_ahead(chunk, sent.chunk_bytes);
    return true;
  }

  /// The time that `record_at_once` wrote into the room in which it made no record.
  std::uint64_t time_at_once(const std::byte* chunk) const {
    return std::launder(reinterpret_cast<const AgainHead*>(chunk + sizeof(ChunkHead)))->unix_us;
  }

  /// Counts a record of operator `op` that is in the ring among the operator's own, if those are counted.
  static void count_op_captured(const ModelPlan& plan, std::size_t op) {
    if (plan.op_counts.empty()) return;
    OpCounts& counts = plan.op_counts[op];
    ++counts.wanted;
    ++counts.captured;
  }

  Status lose_unseen(RecordSource& source, Status cause) {
    source.sequence = sequence_++;
    begun_ = false;
    lose(source, cause);
    return end_record(source.target_index, cause);
  }

  /// Counts a lost record, and leaves a trace of it in the ring or remembers that there is none.
  void lose(RecordSource& source, Status status) {
    const LossCause cause = recorder_cause(status);
    count(source.target_index, count_of(cause));
    if (begun_) count(source.target_index, DumpCount::cut_short);
    // Without a journal that names records nobody asks, and the next record's begin gives up what has begun.
    if (!build::kJournal || (build::kFullJournal && put_loss(source, status))) return;
    remember(cause, source.target->number);
  }

  /// The next record may go by `record_at_once`, unless it has a loss to tell.
  void look_ahead() {
    if (!sent_.empty() && untold_.gap().causes == 0) feed_.look_ahead();
  }

  /// Keeps a loss for the next record to tell.
  [[gnu::always_inline]] void remember(LossCause cause, std::uint8_t number) {
    untold_.add(cause, number, sequence_);
    feed_.end_ahead();
  }

  /// Counts a record that was wanted, has begun, and never came into the ring; its number is used up.
  Status lose_untraced(std::uint8_t target, Status status) {
    ++sequence_;
    begun_ = false;
    const LossCause cause = recorder_cause(status);
    count(target, count_of(cause));
    remember(cause, (*context().targets)[target].number);
    return end_record(target, status);
  }

 private:
  void count_op(Status status) const {
    if (build::kLean || op_counts_ == nullptr) return;
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

  void count_captured(const ModelPlan& plan, std::size_t op) {
    count(plan.target, DumpCount::captured);
    count_op_captured(plan, op);
  }

  // Lists go by value, so that `record_again` keeps them in registers.
  OPDUMP_APART Status stream_again(const SentHeads::Entry& sent, std::span<const TensorView> inputs,
                                   std::span<const TensorView> outputs) {
    return stream({inputs, outputs}, sent.data_bytes, sent.head_bytes);
  }

  OPDUMP_APART Status give_up_again(const ModelPlan& plan, const SentHeads::Entry& sent,
                                    std::uint64_t unix_us, std::span<const TensorView> inputs,
                                    std::span<const TensorView> outputs, Status cause) {
    RecordSource source = describe(plan.model->ops[sent.op], &plan, plan.target, unix_us, {inputs, outputs});
    source.sequence = sequence_ - 1;
    begun_ = !sent.again.last();
    count_for(plan, sent.op);
    Measured bytes;
    static_cast<void>(Wire::measure(source, bytes));  // it was, when the head was sent
    return end_record(plan.target, give_up(source, bytes, cause));
  }

  /// Ends a record of which `status` says whether it is in the ring.
  Status settle(RecordSource& source, const Measured& bytes, Status status, bool may_degrade = true) {
    if (status != Status::ok) status = give_up(source, bytes, status, may_degrade);
    return end_record(source.target_index, status);
  }

  /// Sends the tensors of a record whose head is `head_bytes` long when it is whole.
  Status stream(const CapturedTensors& tensors, DataBytes data_bytes, std::uint32_t head_bytes) {
    return feed_.stream(tensors, data_bytes, degrade_headroom(tensors.size(), head_bytes));
  }

  /// Whether a record that finds no room is to be reduced.
  bool degrades() const {
    return build::kDegrade && feed_.when_full() == WhenFull::degrade && context().reduction != nullptr;
  }

  /// Whether the table has a row of none of its tensors.
  static bool lacks_rows([[maybe_unused]] const RecordSource& source) {
    if (build::kLean || !has_table(source.target->form.layout) || digest_bytes(source.target->form) != 0)
      return false;
    bool lacks = true;
    for (std::size_t i = 0; i < source.tensors.size(); ++i)
      lacks = lacks && !has_table_row(source.tensors[i].dtype);
    return lacks;
  }

  /// Bytes of the ring that a streamed record leaves free, so that its reduced form finds room when it has to
  /// be given up: one piece, and that form twice, as it may have to skip the end of the ring.
  std::uint32_t degrade_headroom(std::uint64_t tensors, std::uint32_t head_bytes) const {
    if (!degrades()) return 0;
    const auto reduced = Wire::reduced_bytes(*context().reduction, tensors, head_bytes) - sizeof(ChunkHead);
    const auto headroom = ring().size() / 4 + Ring::kGranule + 2 * (reduced + 2 * Ring::kGranule);
    return headroom < ring().size() ? static_cast<std::uint32_t>(headroom) : ring().size();
  }

  /// Tells of the tensor because of which no record can hold `source`, if there is one, before the loss is
  /// counted: of each operator the first, and of operators whose plan does not keep what was told, of each
  /// recorder and target the first.
  [[gnu::noinline]] void tell_faulty(const RecordSource& source) {
    SessionLog* const log = context().log;
    if (log == nullptr) return;
    const bool is_first_here = !has_lost_invalid(source.target_index);
    const bool is_kept = source.plan != nullptr && !is_watching(*source.plan);
    std::uint8_t* const bits = is_kept ? &source.plan->bits[source.op_index()] : nullptr;
    if (is_kept ? (*bits & kFaultTold) != 0 : !is_first_here) return;
    const FaultyTensor faulty = first_faulty(source);
    if (faulty.fault == TensorFault::none) return;
    if (is_kept) *bits = static_cast<std::uint8_t>(*bits | kFaultTold);
    log->tensor_faulty(faulty);
  }

  bool has_lost_invalid(std::uint8_t target) {
    DumpCounts counts;
    counts_of(target).add_to(counts);
    return counts.invalid != 0;
  }

  /// Puts what can be kept of a record into the ring that could not be put there whole, if it may be
  /// degraded, and counts it: `degraded`, or `cause` when it is lost.
  Status give_up(RecordSource& source, const Measured& bytes, Status cause, bool may_degrade = true) {
    source.known_as = kNotKnown;
    const Status status = may_degrade ? degrade(source, bytes, cause) : cause;
    if (build::kDegrade && status == Status::degraded) {
      count(source.target_index, DumpCount::degraded);
    } else {
      lose(source, status);
    }
    return status;
  }

  /// The reduced form of the record instead of the tensors that there was no room for; `degraded` when it is
  /// in the ring.
  Status degrade(RecordSource& source, const Measured& bytes, Status cause) {
    if (!degrades() || cause != Status::ring_full || !feed_.at_rest() || feed_.has_report() ||
        lacks_rows(source) || (!build::kLean && !context().reduction->makes(*source.target)))
      return cause;
    const Status status = Wire::put_reduced(*this, source, bytes, cause);
    return status == Status::ok ? Status::degraded : status;
  }

  /// Whether there was room for a mark that the record is lost.
  bool put_loss(const RecordSource& source, Status cause) {
    if (!texts_fit(source)) return false;
    const std::uint32_t head_bytes = bare_head_bytes(source);
    const std::uint32_t chunk_bytes = sizeof(ChunkHead) + head_bytes;
    const MutableBytes chunk = feed_.room_at_once(chunk_bytes);
    if (chunk.data() == nullptr) return false;
    ::new (chunk.data()) ChunkHead(chunk_head(ChunkKind::lost, false, cause, untold_.gap(), head_bytes));
    Wire::encode_bare(source, chunk.data() + sizeof(ChunkHead));
    commit(chunk_bytes);
    return true;
  }

  [[gnu::always_inline]] RecorderCounts& counts_of(std::uint8_t target) {
    if (Targets::is_more(target)) return context().targets->more_at(target).recorded[slot()];
    return counts_[Targets::counted(target)];
  }

  // First, so that what follows goes where its alignment leaves room at its end.
  [[no_unique_address]] RingWriter<Memory> feed_;
  std::uint32_t sequence_ = 0;
  std::uint64_t step_ = 0;
  bool begun_ = false;  ///< the latest record, in the ring; not kept of one that is captured
  [[no_unique_address]] UntoldLosses untold_;
  /// Of the operator that is captured; null: not counted.
  [[no_unique_address]] Maybe<!build::kLean, OpCounts*> op_counts_{};
  /// Of the target of the open step's records.
  [[no_unique_address]] Maybe<!build::kLean, RecorderCounts*> step_counts_{};
  [[no_unique_address]] SentHeads sent_;
  RecorderCounts counts_[Targets::kCounted];
};

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump
