#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <new>
#include <type_traits>

#include "opdump/base/build.hpp"
#include "opdump/impl/drain/described_chunks.hpp"
#include "opdump/impl/drain/drain_ledger.hpp"
#include "opdump/impl/record/untraced_losses.hpp"
#include "opdump/ring.hpp"

namespace opdump {
inline namespace OPDUMP_NAMESPACE {

/// Bytes of scratch that a drainer needs for names of these lengths.
constexpr std::size_t drain_scratch_bytes(std::size_t model_name_bytes, std::size_t type_bytes,
                                          std::size_t name_bytes) {
  // A report has a name of its own.
  constexpr std::size_t kReportName = std::string_view("OpdebugNode_OpDebug").size();
  if (build::kOverflow && type_bytes + name_bytes < kReportName) name_bytes = kReportName - type_bytes;
  return 2 * journal_line_bytes(dump_name_bytes(model_name_bytes, type_bytes, name_bytes));
}

/// Moves records from the recorders' rings to a sink, and tells the journal of each. One context at a time
/// may call it.
class Drainer {
 public:
  /// `scratch` is the drainer's as long as it lives. See `drain_scratch_bytes` for its size; a record whose
  /// names do not fit is lost and counted.
  Drainer(Sink& sink, const Targets& targets, PlanList& plans, MutableBytes scratch, JournalDetail detail,
          Reduction* reduction)
      : ledger_(sink, targets, plans, scratch, detail, reduction) {}
  Drainer(const Drainer&) = delete;
  Drainer& operator=(const Drainer&) = delete;

  /// What writes tables for the privacy of configs; before anything is drained. OPDUMP_SMALL_CODE has none.
  void write_kept_by(KeptTable* table) {
    if_here(ledger_.kept, [table](auto& kept) { kept = table; });
  }

  /// Makes durable what the sink has.
  Status sync() {
    flush_digests();
    return ledger_.sink->sync();
  }
  void flush_digests() { RecordChunks::flush_digests(ledger_); }

  /// Tells the journals that name no record up to which one of each recorder all is told, if `least` bytes or
  /// more have moved since.
  OPDUMP_APART void tell_certain(std::size_t least) {
    if (!build::kJournal || moved_ < least || ledger_.digests.count() != 0) return;
    moved_ = 0;
    for (std::size_t slot = 0; slot < OPDUMP_MAX_RECORDERS; ++slot) {
      const Stream& stream = ledger_.stream_of(slot);
      if (stream.target == Targets::kNone || stream.held != 0) continue;
      const std::uint32_t unfinished = stream.state == State::idle ? 0 : 1;
      ledger_.journal.certain(ledger_.targets[stream.target], slot, stream.expected - unfinished);
    }
    ledger_.journal.flush();
  }

  /// A drain tells it after so many bytes at the earliest: the lines of all recorders then add 1 % at most.
  static constexpr std::size_t kBytesToCertain = OPDUMP_MAX_RECORDERS * std::size_t{4096};

  /// Writes to `sink` from now on. While nothing is drained and every target is closed.
  void write_to(Sink& sink) { ledger_.write_to(sink); }

  /// While nothing is drained and every target is closed. Forgets what went wrong with the journals before.
  void begin(JournalDetail detail) { ledger_.journal.begin(detail); }

  /// Whether names of these lengths fit the scratch.
  bool fits(std::size_t model_name_bytes, std::size_t type_bytes, std::size_t name_bytes) const {
    return drain_scratch_bytes(model_name_bytes, type_bytes, name_bytes) <= 2 * ledger_.namer.memory_bytes();
  }

  /// Comes before all that moves records, and `leave` after it; false when a call is at work already, such as
  /// one whose sink calls back. A flag, not a lock: contexts that run at the same time are not told apart.
  bool enter() {
    if (is_busy()) return false;
    busy_.store(true, std::memory_order_relaxed);
    return true;
  }
  void leave() { busy_.store(false, std::memory_order_relaxed); }
  bool is_busy() const { return busy_.load(std::memory_order_relaxed); }

  /// Moves chunks out of ring `slot` until it is empty or `budget_bytes` bytes have gone; the head of a record and
  /// `kLeastPiece` bytes more at most. What is left of the last chunk stays in the ring. Returns the bytes moved.
  std::size_t drain(std::size_t slot, Ring& ring, std::size_t budget_bytes) {
    if (OPDUMP_MAX_RECORDERS == 1) slot = 0;  // which the compiler then knows
    if (!build::kLean) crowded_ = crowded_ || ring.used() > ring.size() / 8;
    Stream& stream = ledger_.stream_of(slot);
    std::size_t moved = 0;
    std::uint32_t unreleased = 0;
    const bool asked = DrainLedger::kDigests && stream.looks_to_pass != 0;
    while (moved < budget_bytes) {
      if (ring.all_popped() && stream.looks_to_pass != 0) --stream.looks_to_pass;
      // Not `peek`, whose result would lie on the stack.
      if (!ring.look()) {
        stream.looks_to_pass = 0;
        break;
      }
      const Bytes chunk = ring.oldest();
      if (put_next<RecordChunks>(slot, stream, chunk, budget_bytes - moved)) {
        moved += chunk.size();
      } else {
        moved += take_chunk(slot, chunk, budget_bytes - moved);
        if (stream.rest != nullptr) continue;  // the budget has gone; less code than a break
      }
      ring.pop();
      if (kReleaseEach) {
        ring.release();
        continue;
      }
      unreleased += static_cast<std::uint32_t>(chunk.size());
      // Each release takes the line with the tail away from the producer's core, so it is not done per chunk.
      // With digests that wait, a ring that is empty is released below, behind them.
      if (unreleased >= ring.size() / 8 &&
          (!DrainLedger::kDigests || ledger_.digests.count() == 0 || ring.look())) {
        ring.release();
        unreleased = 0;
      }
    }
    if (DrainLedger::kDigests && ledger_.digests.count() != 0 &&
        ((asked && stream.looks_to_pass == 0) || (!holds_digests() && !ring.look()))) {
      RecordChunks::flush_digests(ledger_);
      ledger_.journal.flush();
    }
    if (!kReleaseEach && moved != 0) {
      // In this order, so that whoever sees the ring empty finds all of it in the sink.
      ledger_.journal.flush();
      ring.release();
    }
    moved_ = moved_ + static_cast<std::uint32_t>(moved);
    return moved;
  }

  /// Whether a ring may be empty of records that are not in the sink yet.
  bool holds_digests() const { return RecordChunks::hold_digests(ledger_); }

  /// Tells the journal of what the recorder of ring `slot` has lost without a trace, if nothing in the ring
  /// will: so that a crash does not hide it, though no record comes any more.
  void tell_untold(std::size_t slot, Ring& ring, const UntoldLosses& untold) {
    if constexpr (!build::kFullJournal) return;
    std::uint32_t next = 0;
    const LossGap gap = untold.look(next);
    if (gap.causes == 0 || ring.peek().data() != nullptr) return;
    Stream& stream = ledger_.stream_of(slot);
    // It may be older than what has come since, or of several targets, so that only the next record says
    // where to tell it.
    const bool is_old = static_cast<std::int32_t>(next - stream.expected) < 0;
    if (is_old || ledger_.target_of(gap, stream.target) == Targets::kNone) return;
    ledger_.end_unfinished(slot, stream, gap.causes);
    ledger_.tell_gap(slot, stream, next, gap, stream.target);
    ledger_.journal.flush();
  }

  /// Takes `data` as the next bytes of the record that ring `slot`, which is empty, has begun; `last`: it is
  /// whole then. Stands for data chunks of bytes that need not go through the ring.
  void take_in_place(std::size_t slot, Bytes data, bool last) {
    take_data(slot, ledger_.stream_of(slot), data, last);
    // No `drain` comes after it.
    if (last) ledger_.journal.flush();
  }

  /// Whether a ring was more than an eighth full when it was drained, since the last call of this: it may
  /// soon be full. OPDUMP_SMALL_CODE does not look.
  bool take_crowded() {
    const bool crowded = crowded_;
    crowded_ = false;
    return crowded;
  }

  /// Begins the stream of `slot`, which is not drained yet, with memory for the heads that come with a number.
  void start(std::size_t slot, std::span<KnownHeads::Entry> heads) {
    if_here(ledger_.stream_of(slot).heads, [heads](auto& known) { known.reset(heads); });
  }

  /// Asks for `passed` to tell when ring `slot` is drained of all that is in it now.
  void mark(std::size_t slot) {
    // What is there now is seen with the next look at the head at the latest; when that is used up there is another.
    ledger_.stream_of(slot).looks_to_pass = 2;
  }

  bool passed(std::size_t slot) const { return ledger_.stream_of(slot).looks_to_pass == 0; }

  /// Ends the stream of `slot`, whose ring is empty and whose recorder has given out sequence numbers below
  /// `next_sequence` and lost `gap` at the end: gives up an unfinished record and tells the journal.
  void finish(std::size_t slot, std::uint32_t next_sequence, const LossGap& gap) {
    RecordChunks::flush_digests(ledger_);
    Stream& stream = ledger_.stream_of(slot);
    if (build::kLeanJournal) {
      end(slot, stream, gap.causes);
    } else {
      ledger_.end_unfinished(slot, stream, gap.causes);
      ledger_.tell_gap(slot, stream, next_sequence, gap, stream.target);
      ledger_.switch_target(slot, stream, Targets::kNone, 0);
    }
    stream.looks_to_pass = 0;
    ledger_.journal.flush();
  }

  /// Tells the journal of `plan`, while nothing is drained, which of its operators lost or reduced records.
  void tell_ops(const ModelPlan& plan) {
    for (std::size_t op = 0; op < plan.op_counts.size(); ++op) {
      const OpCounts& counts = plan.op_counts[op];
      if (counts.lost() != 0 || counts.degraded != 0)
        ledger_.journal.op(ledger_.targets[plan.target], plan, op);
    }
  }

  /// Tells the journal of `target`, which is in use, of something that was never captured.
  void tell_never(std::uint8_t target, const NeverCaptured& what) {
    ledger_.journal.never(ledger_.targets[target], what);
  }

  /// Tells the journal of `target`, which is in use, which call of the driver failed last.
  void tell_driver(std::uint8_t target, const DriverError& error) {
    ledger_.journal.driver(ledger_.targets[target], error);
  }

  /// Calls `use(journal, target)`, for lines that only some journals have.
  template <class Use>
  void tell(std::uint8_t target, const Use& use) {
    use(ledger_.journal, ledger_.targets[target]);
  }

  /// The journal lacks lines because of `cause`. Any context.
  void fail_journal(Status cause) { ledger_.journal.fail(cause); }

  /// Leaves a target, before it is closed, in all streams.
  void leave(std::uint8_t target) {
    RecordChunks::flush_digests(ledger_);
    for (std::size_t slot = 0; slot < OPDUMP_MAX_RECORDERS; ++slot) {
      if (ledger_.stream_of(slot).target == target) end(slot, ledger_.stream_of(slot), 0);
    }
  }

  /// Closes a target's journal, which all streams have left. `counts` is what its recorders counted, and becomes all
  /// that was counted; the drainer's own counts of it begin anew. Without journals all counts go on.
  void close(std::uint8_t target, DumpCounts& counts) {
    forget_names(target);
    if (build::kJournal) {
      ledger_.counts_of(target).add_to(counts);
      ledger_.counts_of(target).clear();
    }
    ledger_.journal.closed(ledger_.targets[target], counts);
    ledger_.journal.flush();
  }

  /// The target of that index is another one from now on.
  void forget_names(std::uint8_t target) { ledger_.namer.forget(target); }

  /// Adds the drainer's counts of the records of group `group` (`Targets::counted`, below `kCounted`) to
  /// `counts`. Any context may ask.
  void add_counts(std::size_t group, DumpCounts& counts) const { ledger_.counts[group].add_to(counts); }

  /// Cause of the latest record the sink lost, `ok` if there was none.
  Status last_failure() const {
    return static_cast<Status>(ledger_.last_failure.load(std::memory_order_relaxed));
  }

  /// Why lines of the journal were lost, so that it proves less than it should; `ok` when none were.
  Status journal_failure() const { return ledger_.journal.failure(); }

 private:
  using State = DrainLedger::State;
  using Stream = DrainLedger::Stream;

  /// There is no line to take away where there is but one core, and no batch of a journal's lines that has to
  /// come first.
  static constexpr bool kReleaseEach = build::kLean;

  /// Gives up an unfinished record, because of `causes`, and leaves the stream's target.
  void end(std::size_t slot, Stream& stream, LossCauses causes) {
    ledger_.end_unfinished(slot, stream, causes);
    ledger_.switch_target(slot, stream, Targets::kNone, 0);
  }

  void take_data(std::size_t slot, Stream& stream, Bytes data, bool last) {
    if (stream.state == State::writing) ledger_.note_failure(stream, stream.writer.put(data));
    if (last) ledger_.end_record(slot, stream, {});
  }

  /// A chunk is not cut into smaller ones, less 1; a power of two less 1.
  static constexpr std::size_t kLeastPiece = 255;
  /// Nor within an element, which a format may write in another form: the bytes of the widest, less 1.
  static constexpr std::size_t kElement = 15;

  /// Takes about `most` bytes of `chunk`, or of what is left of it, and returns how many.
  OPDUMP_INLINE_IF_LEAN std::size_t take_chunk(std::size_t slot, const Bytes& chunk, std::size_t most) {
    Stream& stream = ledger_.stream_of(slot);
    if (kDoubtRings && chunk.size() < sizeof(ChunkHead)) return chunk.size();
    const ChunkHead& head = *std::launder(reinterpret_cast<const ChunkHead*>(chunk.data()));
    if (kDoubtRings && head.head_bytes > chunk.size() - sizeof head) return chunk.size();
    const std::byte* const body = chunk.data() + sizeof head;
    const std::byte* from = stream.rest;
    const std::byte* data = from;
    bool begins = false;
    if (from == nullptr) {
      from = chunk.data();
      data = body + head.head_bytes;
      begins = head.kind != ChunkKind::data;
      if (build::kLean && begins) data = open_file<RecordChunks>(slot, stream, head);
    }
    // From end to end, as for files: less code than a subspan.
    const std::byte* end = chunk.data() + chunk.size();
    most |= kLeastPiece;
    const bool split = static_cast<std::size_t>(end - data) > most && RecordChunks::may_split(head.kind);
    if (split) end = data + (most & ~kElement);
    stream.rest = split ? end : nullptr;
    const bool last = !split && head.last();
    if (build::kLean || !begins) {
      take_data(slot, stream, {data, end}, last);
    } else if constexpr (!build::kLean) {
      begin_record<RecordChunks>(slot, stream, head, {body, end}, last);
    }
    return static_cast<std::size_t>(end - from);
  }

  /// Takes a chunk that is all of a record right behind the last one, of which everything is ready, as most
  /// are; false, with nothing changed but the latest time stamp, when `take_chunk` has to see to it.
  template <class Chunks>
  bool put_next(std::size_t slot, Stream& stream, const Bytes& chunk, std::size_t most) {
    if constexpr (!build::kLean && kAlways<Chunks>) {
      return chunk.size() <= (most | kLeastPiece) && Chunks::put_next(ledger_, slot, stream, chunk);
    } else {
      return false;
    }
  }

  /// In a lean build. Both are templates, as each build has the chunks of one.
  template <class Chunks>
  OPDUMP_INLINE_IF_LEAN const std::byte* open_file(std::size_t slot, Stream& stream, const ChunkHead& head) {
    if constexpr (build::kLean && kAlways<Chunks>) return Chunks::open(ledger_, slot, stream, head);
    return nullptr;
  }

  /// In the other one.
  template <class Chunks>
  void begin_record(std::size_t slot, Stream& stream, const ChunkHead& head, const Bytes& body, bool last) {
    if (head.kind != ChunkKind::reduced) Chunks::flush_digests(ledger_);
    if (Chunks::take_again(ledger_, slot, stream, head, body, last)) return;
    const Result<RecordView> record = RecordView::parse(body.first(head.head_bytes));
    if (!record.ok() || record.value().head().target >= ledger_.targets.size()) return;
    if (Chunks::take(ledger_, slot, stream, record.value(), head, body, last)) return;
    if constexpr (build::kFullJournal) take_loss(slot, stream, record.value(), head);
  }

  void take_loss(std::size_t slot, Stream& stream, const RecordView& record, const ChunkHead& head) {
    ledger_.replace(slot, stream, record, head.gap());
    const DumpTarget& target = ledger_.targets[stream.target];
    ledger_.tell_held(slot, stream, record.head().sequence);
    ledger_.namer.enter(record, target);
    const std::string_view untimed = ledger_.namer.make_untimed(record, target);
    ledger_.journal.lost(target, slot, record.head().sequence, bit(recorder_cause(head.cause)), head.cause,
                         ledger_.namer.in_directory(record, target, 0, untimed));
  }

  [[no_unique_address]] DrainLedger ledger_;  // what follows takes the room at its end
  std::atomic<bool> busy_{false};
  bool crowded_ = false;
  [[no_unique_address]] Maybe<build::kJournal, std::uint32_t> moved_{};  ///< since `tell_certain` told
};

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump
