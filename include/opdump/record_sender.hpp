#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <span>

#include "opdump/counts.hpp"
#include "opdump/known_heads.hpp"
#include "opdump/model_plan.hpp"
#include "opdump/nano_record.hpp"
#include "opdump/record_feed.hpp"
#include "opdump/record_source.hpp"
#include "opdump/recorder_context.hpp"
#include "opdump/ring.hpp"
#include "opdump/targets.hpp"
#include "opdump/untold_losses.hpp"

namespace opdump {
inline namespace OPDUMP_NAMESPACE {

/// A recorder's counts of one group of records.
using RecorderCounts = CountBlock<DumpCount::wanted, DumpCount::last_recorder_cause>;

/// Numbers a recorder's records, puts them into its ring, whole, behind a head that the drainer knows,
/// reduced or as a mark that they are lost, and counts what became of each. From the recorder's own context.
template <class Memory>
class RecordSender {
 public:
  /// Adds this recorder's counts of the records of group `group` (`Targets::counted`) to `counts`. Any
  /// context may ask.
  void add_counts(std::size_t group, DumpCounts& counts) const { counts_[group].add_to(counts); }

  // For the session.

  Status attach(const RecorderContext<Memory>& context, std::size_t slot, MutableBytes ring_memory,
                std::span<SentHeads::Entry> head_memory) {
    sent_.reset(head_memory);
    untold_.clear();
    return feed_.attach(context, slot, ring_memory);
  }

  /// While it captures nothing of group `group`.
  void clear_counts(std::size_t group) { counts_[group].clear(); }

  std::size_t slot() const { return feed_.slot(); }
  std::uint32_t next_sequence() const { return sequence_; }
  const UntoldLosses& untold() const { return untold_; }
  /// Whether its backend still writes to the ring.
  bool at_rest() { return feed_.at_rest(); }
  Ring& ring() { return feed_.ring(); }
  const Ring& ring() const { return feed_.ring(); }

 protected:
  const RecorderContext<Memory>& context() const { return feed_.context(); }

  void count(std::uint8_t target, DumpCount what) { counts_[Targets::counted(target)].add_one(what); }

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

  Status record(RecordSource& source, [[maybe_unused]] bool may_come_again, bool keep_empty) {
    RecordBytes bytes;
    Status status;
    if (!begin(source, bytes, keep_empty, status)) return skip_empty(source.target_index);
#if OPDUMP_SMALL_CODE == 0
    if (status == Status::ok && may_come_again)
      source.known_as = sent_.number_for(source.plan->load, source.op_index(), bytes.head);
#endif
    if (status == Status::ok) status = put(source, bytes);
    return settle(source, status);
  }

  /// What the config wants instead of the tensors. Not with `record`, which needs more stack.
  [[gnu::noinline]] Status record_reduced(RecordSource& source) {
    RecordBytes bytes;
    Status status;
    if (!begin(source, bytes, false, status)) return skip_empty(source.target_index);
    if (status == Status::ok) status = put_reduced(source, bytes.head, Status::ok);
    return settle(source, status, false);
  }

  /// Measures a record, with `status`, and gives it its number. False, with nothing changed, when it has no
  /// byte and is not to be kept.
  bool begin(RecordSource& source, RecordBytes& bytes, bool keep_empty, Status& status) {
    status = measure_whole_record(source, bytes);
    if (status == Status::ok && bytes.data == 0 && !keep_empty) return false;
    source.sequence = sequence_++;
    begun_ = false;
    return true;
  }

  /// Ends a record of which `status` says whether it is in the ring.
  Status settle(RecordSource& source, Status status, bool may_degrade = true) {
    if (status != Status::ok) status = give_up(source, status, may_degrade);
    return end_record(source.target_index, status);
  }

  Status skip_empty(std::uint8_t target) {
    count(target, DumpCount::empty);
    count_op(Status::ok);
    return Status::ok;
  }

  /// Returns the time. Comes first in a record: what follows runs while the clock is being read.
  std::uint64_t begin_record(std::uint8_t target) {
    const std::uint64_t unix_us = feed_.unix_us();
    // On its own, not the sum of what became of them: a record that got lost on the way shows in the counts.
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
        ChunkHead(chunk_head(ChunkKind::record, whole && !goes_on, Status::ok, untold_.gap(), bytes.head));
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
    ChunkHead& head = *::new (chunk.data()) ChunkHead(sent->again);
    if (const LossGap gap = untold_.gap(); gap.causes != 0) [[unlikely]]
      head = sent->again.with(gap);
    ::new (chunk.data() + sizeof(ChunkHead)) AgainHead{unix_us, step_, sequence_++, sent->number};
    const bool whole = sent->again.last();
    if (!whole) commit_first(sent->chunk_bytes);
    status = whole ? feed_.copy_now(to, tensors) : stream_again(*sent, tensors.inputs, tensors.outputs);
    if (status != Status::ok) [[unlikely]] {
      status = give_up_again(plan, *sent, unix_us, tensors.inputs, tensors.outputs, status);
      return true;
    }
    if (whole) commit_first(sent->chunk_bytes);
    count_captured(plan, op);
    feed_.wake_if_crowded();
    return true;
  }

  void count_captured(const ModelPlan& plan, std::size_t op) {
    count(plan.target, DumpCount::captured);
    if (plan.op_counts.empty()) return;
    OpCounts& counts = plan.op_counts[op];
    ++counts.wanted;
    ++counts.captured;
  }

  // Lists go by value, so that `record_again` keeps them in registers.
  [[gnu::noinline]] Status stream_again(const SentHeads::Entry& sent, std::span<const TensorView> inputs,
                                        std::span<const TensorView> outputs) {
    return stream({inputs, outputs}, sent.data_bytes, sent.head_bytes);
  }

  [[gnu::noinline]] Status give_up_again(const ModelPlan& plan, const SentHeads::Entry& sent,
                                         std::uint64_t unix_us, std::span<const TensorView> inputs,
                                         std::span<const TensorView> outputs, Status cause) {
    RecordSource source = describe(plan.model->ops[sent.op], &plan, plan.target, unix_us, {inputs, outputs});
    source.sequence = sequence_ - 1;
    begun_ = !sent.again.last();
    count_for(plan, sent.op);
    return end_record(plan.target, give_up(source, cause));
  }
#endif

  /// Makes the chunk visible that a record begins with; it tells of the gap before it.
  void commit_first(std::uint32_t bytes) {
    ring().commit(bytes);
    untold_.clear();
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
    static constexpr CapturedTensors kNone{};
    const CapturedTensors& described = kNone;
#else
    const CapturedTensors& described = source.tensors;
    for (std::size_t i = 0; i < described.size(); ++i, bytes += context().reduction->bytes_per_tensor()) {
      const Status status = context().reduction->reduce(*source.target, described[i], chunk.data() + bytes);
      if (status != Status::ok) return status;
    }
#endif
    ::new (chunk.data()) ChunkHead(chunk_head(ChunkKind::reduced, true, cause, untold_.gap(), head_bytes));
    encode_record(source, described, 0, chunk.data() + sizeof(ChunkHead));
    commit_first(bytes);
    return Status::ok;
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
    // Without a journal nobody asks, and the next record's begin gives up what has begun.
    if (OPDUMP_JOURNAL == 0) return;
    const CapturedTensors tensors = source.tensors;
    source.tensors = {};
    if (put_loss(source, status)) {
      untold_.clear();
    } else {
      untold_.add(cause, source.target->number, sequence_);
    }
    source.tensors = tensors;
  }

#if OPDUMP_OVERFLOW
  /// Counts a record that was wanted, has begun, and never came into the ring; its number is used up.
  Status lose_untraced(std::uint8_t target, Status status) {
    ++sequence_;
    begun_ = false;
    const LossCause cause = recorder_cause(status);
    count(target, count_of(cause));
    untold_.add(cause, (*context().targets)[target].number, sequence_);
    return end_record(target, status);
  }
#endif

  /// `source` comes without its tensors.
  bool put_loss(RecordSource& source, Status cause) {
    RecordBytes bytes;
    if (measure_record(source, bytes) != Status::ok) return false;
    const std::uint32_t chunk_bytes = sizeof(ChunkHead) + bytes.head;
    const MutableBytes chunk = feed_.room_at_once(chunk_bytes);
    if (chunk.data() == nullptr) return false;
    const ChunkHead head = chunk_head(ChunkKind::lost, false, cause, untold_.gap(), bytes.head);
    std::memcpy(chunk.data(), &head, sizeof head);
    encode_record(source, {}, 0, chunk.data() + sizeof head);
    ring().commit(chunk_bytes);
    return true;
  }

  // First, so that what follows goes where its alignment leaves room at its end.
  [[no_unique_address]] RecordFeed<Memory> feed_;
  std::uint32_t sequence_ = 0;
  std::uint64_t step_ = 0;
  bool begun_ = false;  ///< the latest record, in the ring; not kept of one that is captured
  [[no_unique_address]] UntoldLosses untold_;
#if OPDUMP_SMALL_CODE == 0
  OpCounts* op_counts_ = nullptr;  ///< of the operator that is captured; null: not counted
#endif
  [[no_unique_address]] SentHeads sent_;
  RecorderCounts counts_[Targets::kCounted];
};

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump
