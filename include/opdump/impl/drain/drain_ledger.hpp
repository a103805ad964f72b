#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>

#include "opdump/base/build.hpp"
#include "opdump/impl/drain/counted_plans.hpp"
#include "opdump/impl/drain/dump_name.hpp"
#include "opdump/impl/drain/journal.hpp"
#include "opdump/impl/drain/known_heads.hpp"
#include "opdump/impl/drain/lean_journal.hpp"
#include "opdump/impl/drain/record_writer.hpp"
#include "opdump/impl/record/part_interfaces.hpp"
#include "opdump/impl/record/record_view.hpp"
#include "opdump/impl/record/ring_record.hpp"
#include "opdump/impl/record/targets.hpp"
#include "opdump/port/sink.hpp"
#include "opdump/types/counts.hpp"

namespace opdump {
inline namespace OPDUMP_NAMESPACE {

/// Records whose digests a Reduction keeps and has not written yet: of one recorder and target, one after another.
class WaitingDigests {
 public:
  std::uint32_t count() const { return count_; }
  std::size_t slot() const { return slot_; }
  std::uint8_t target() const { return target_; }
  std::uint32_t first() const { return first_; }
  std::uint32_t last() const { return first_ + count_ - 1; }

  bool goes_on(std::size_t slot, std::uint8_t target, std::uint32_t sequence) const {
    return count_ != 0 && slot == slot_ && target == target_ && sequence == first_ + count_;
  }

  void add(std::size_t slot, std::uint8_t target, std::uint32_t sequence) {
    if (count_ == 0) first_ = sequence;
    slot_ = static_cast<std::uint8_t>(slot);
    target_ = target;
    ++count_;
  }

  void clear() { count_ = 0; }

 private:
  std::uint32_t first_ = 0;
  std::uint32_t count_ = 0;
  std::uint8_t slot_ = 0;
  std::uint8_t target_ = Targets::kNone;
};

/// The same where no records have digests.
struct NoDigests {
  static constexpr std::uint32_t count() { return 0; }
  static constexpr std::size_t slot() { return 0; }
  static constexpr std::uint8_t target() { return 0; }
  static constexpr std::uint32_t first() { return 0; }
  static constexpr std::uint32_t last() { return 0; }
  static constexpr bool goes_on(std::size_t, std::uint8_t, std::uint32_t) { return false; }
  static constexpr void add(std::size_t, std::uint8_t, std::uint32_t) {}
  static constexpr void clear() {}
};

/// What the drainer knows of each ring's stream of records, and by which sink, journal and counts are told
/// what became of them: which record is being written, which sequence number comes next and what was lost in
/// between. A part of Drainer, which is used by one context at a time.
struct DrainLedger {
  /// Of an object, as the journal is told of it.
  using ToldName = Maybe<build::kFullJournal, ObjectName>;

  /// Nobody else asks for sequence numbers.
  static constexpr bool kCountsRecords = build::kJournal || build::kDegrade;
  static constexpr bool kDigests = build::kStatistics && !build::kLean;

  enum class State : std::uint8_t { idle, held, writing, discarding };

  /// Losses of a stream, one after another, for which a sink has no room: the first ones get a line each, then one
  /// line tells as many as were told so far. So the journal of a dump that is full hardly grows, and one that ends
  /// untimely there tells of half of them at least. A lean journal does so with all losses of the sink.
  static constexpr unsigned kNamedBits = sizeof(void*) > 4 ? 5 : 3;
  static constexpr unsigned kMostNamed = 1u << kNamedBits;

  struct Stream {
    State state = State::idle;  // of record `expected - 1`; `held`: there is none, and losses are held
    std::uint8_t target = Targets::kNone;
    Status failure = Status::ok;
    std::uint8_t looks_to_pass = 0;  // at the ring's head, until what was in it at `mark` is drained
    /// Sequence number that comes next if nothing is lost.
    [[no_unique_address]] Maybe<kCountsRecords, std::uint32_t> expected{0u};
    [[no_unique_address]] Maybe<build::kJournal, std::uint32_t, 1> told_to{0u};
    LossCauses held = 0;              // of losses from `told_to` on, which wait to be told
    std::uint8_t told = 0;            // lines of losses, one after another, that end at `told_to`
    const std::byte* rest = nullptr;  // what is left of the ring's oldest chunk, if not all
    RecordWriter writer;
    [[no_unique_address]] Maybe<!build::kLean, KnownHeads> heads;
    std::uint64_t last_us = 0;
    [[no_unique_address]] Maybe<!build::kLean, OpStep> op{};  // of the record that is being written
  };

  DrainLedger(Sink& to, const Targets& all, PlanList& counted, MutableBytes scratch, JournalDetail detail,
              Reduction* reduced_by)
      : sink(&to),
        targets(all),
        plans(counted),
        reduction(reduced_by),
        namer(scratch.subspan(scratch.size() / 2)),
        journal(to, scratch.first(scratch.size() / 2), detail) {}

  void write_to(Sink& to) {
    sink = &to;
    journal.write_to(to);
  }

  Stream& stream_of(std::size_t slot) { return streams[OPDUMP_MAX_RECORDERS == 1 ? 0 : slot]; }
  const Stream& stream_of(std::size_t slot) const { return streams[OPDUMP_MAX_RECORDERS == 1 ? 0 : slot]; }

  DrainerCounts& counts_of(std::uint8_t target) {
    if (Targets::is_more(target)) return targets.more_at(target).drained;
    return counts[Targets::counted(target)];
  }

  /// Gives up the unfinished record that `record` comes instead of, if there is one.
  void replace(std::size_t slot, Stream& stream, const RecordView& record, const LossGap& gap) {
    if (drop_interrupted(stream, record.head())) return;
    end_unfinished(slot, stream, gap.causes);
    reach(slot, stream, record.head(), gap);
  }

  /// Drops the unfinished record without a word where it is the one of `head`, reduced, or once more after a crash.
  bool drop_interrupted(Stream& stream, const RecordHead& head) {
    const bool had_begun =
        kCountsRecords && stream.state > State::held && head.sequence == stream.expected - 1;
    if (!had_begun) return false;
    if (stream.state == State::writing) stream.writer.abort();
    stream.state = State::idle;
    return true;
  }

  /// Follows the stream to the target and sequence number of `head`.
  void reach(std::size_t slot, Stream& stream, const RecordHead& head, const LossGap& gap) {
    tell_gap(slot, stream, head.sequence, gap, head.target);
    switch_target(slot, stream, head.target, head.sequence);
    if (kCountsRecords) stream.expected = head.sequence + 1;
  }

  /// `next`: sequence number of what comes from there.
  void switch_target(std::size_t slot, Stream& stream, std::uint8_t target, std::uint32_t next) {
    if (stream.target == target) return;
    if (stream.target != Targets::kNone) {
      tell_held(slot, stream, stream.expected);
      journal.to(targets[stream.target], slot, stream.expected);
    }
    stream.target = target;
    if (target != Targets::kNone) journal.from(targets[target], slot, next);
  }

  /// The open target that `gap` was lost from, `otherwise` when there are several; none when it is closed.
  std::uint8_t target_of(const LossGap& gap, std::uint8_t otherwise) const {
    if (gap.target == 0) return otherwise;
    for (std::uint8_t target = 0; target < targets.size(); ++target) {
      if (targets.state(target) != Targets::State::free && targets[target].number == gap.target)
        return target;
    }
    return Targets::kNone;
  }

  void tell_gap(std::size_t slot, Stream& stream, std::uint32_t next, const LossGap& gap,
                std::uint8_t otherwise) {
    // The record before comes again where a crash has interrupted the drain in it.
    if (!build::kJournal || next - stream.expected + 1 < 2) return;
    if constexpr (build::kLeanJournal) {
      // Of what is lost before a target's first record its counts tell.
      if (stream.target == otherwise) add_gap(slot, stream, next, gap.causes);
      return;
    }
    switch_target(slot, stream, target_of(gap, otherwise), stream.expected);
    if (stream.target != Targets::kNone) add_gap(slot, stream, next, gap.causes);
    stream.expected = next;
  }

  void add_gap(std::size_t slot, Stream& stream, std::uint32_t next, LossCauses causes) {
    if (stream.held != 0 && causes != 0) {
      stream.held |= causes;
      return;
    }
    tell_held(slot, stream, stream.expected);
    journal.gap(targets[stream.target], slot, stream.expected, next - 1, causes);
  }

  /// Tells the losses that are held, which end before `next`.
  OPDUMP_APART void tell_held(std::size_t slot, Stream& stream, std::uint32_t next) {
    if (!build::kJournal || stream.held == 0) return;
    const LossCauses causes = stream.held;
    stream.held = 0;
    if (!build::kLean && stream.state == State::held) stream.state = State::idle;
    journal.gap(targets[stream.target], slot, stream.told_to, next - 1, causes);
    stream.told_to = next;
  }

  void hold(Stream& stream, std::uint32_t first, LossCause cause) {
    if (stream.held == 0) stream.told_to = first;
    stream.held |= bit(cause);
  }

  void end_unfinished(std::size_t slot, Stream& stream, LossCauses causes) {
    if (stream.state <= State::held) return;
    if (stream.state == State::writing) stream.writer.abort();
    stream.state = State::idle;
    tell_held(slot, stream, stream.expected - 1);
    journal.lost(targets[stream.target], slot, stream.expected - 1, causes, Status::ok, {});
  }

  [[gnu::always_inline]] void note_failure(Stream& stream, Status status) {
    if (status != Status::ok) discard(stream, status);
  }

  void discard(Stream& stream, Status status) {
    stream.state = State::discarding;
    stream.failure = status;
    last_failure.store(static_cast<std::uint8_t>(status), std::memory_order_relaxed);
  }

  void end_record(std::size_t slot, Stream& stream, const ToldName& name, Status cause = Status::ok) {
    if (stream.state == State::writing) note_failure(stream, stream.writer.commit());
    tell_end(slot, stream, name, cause);
  }

  /// `cause`: why the record is reduced; `ok`: because it is wanted so, or it is not.
  void tell_end(std::size_t slot, Stream& stream, const ToldName& name, Status cause = Status::ok) {
    const DumpTarget& target = targets[stream.target];
    // A record that its recorder gives up is counted there, so one that the sink loses counts only once it is whole.
    if (stream.state == State::writing) {
      count_written(slot, stream);
      if (build::kLean && cause != Status::ok) {
        journal.reduced(target, slot, stream.expected - 1, recorder_cause(cause), stream.writer.bytes(),
                        name);
      } else {
        journal.written(target, slot, stream.expected - 1, stream.writer.bytes(), name);
      }
    } else if (stream.state == State::discarding) {
      // What the lean journal is given would lie on the stack of each drain.
      if constexpr (build::kLeanJournal) {
        tell_discarded_apart(slot, stream, name);
      } else {
        tell_discarded(slot, stream, name);
      }
    }
    stream.state = build::kLean || stream.held == 0 ? State::idle : State::held;
  }

  /// Comes before the line that tells of it.
  void count_written(std::size_t slot, Stream& stream) {
    counts_of(stream.target).add_one(DumpCount::written);
    tell_held(slot, stream, stream.expected - 1);
  }

  OPDUMP_APART void tell_discarded_apart(std::size_t slot, Stream& stream, const ToldName& name) {
    tell_discarded(slot, stream, name);
  }

  void tell_discarded(std::size_t slot, Stream& stream, const ToldName& name) {
    const DumpTarget& target = targets[stream.target];
    const LossCause lost = sink_cause(stream.failure);
    counts_of(stream.target).add_one(count_of(lost));
    // Of an operator that failed its recorder counts nothing.
    if (!holds_failures(target)) plans.count_loss(stream.op, lost);
    const std::uint32_t sequence = stream.expected - 1;
    if constexpr (build::kLeanJournal) {
      hold(stream, sequence, lost);
    } else if constexpr (build::kFullJournal) {
      const bool is_refused = lost == LossCause::quota || stream.failure == Status::no_space;
      if (!is_refused || (stream.held == 0 && sequence != stream.told_to)) stream.told = 0;
      if (stream.told >= kMostNamed) {
        hold(stream, sequence, lost);
        if (stream.expected - stream.told_to < 1u << (stream.told + kNamedBits - kMostNamed)) return;
        tell_held(slot, stream, stream.expected);
      } else {
        tell_held(slot, stream, sequence);
        journal.lost(targets[stream.target], slot, sequence, bit(lost), stream.failure, name);
        stream.told_to = stream.expected;
      }
      ++stream.told;
    }
  }

  /// Sets `name` and calls `use(name, rest of scratch)`, with later and later time stamps while that says
  /// `already_exists`.
  template <class Use>
  [[gnu::always_inline]] Status try_names(Stream& stream, const RecordView& record, std::string_view suffix,
                                          [[maybe_unused]] ToldName& name, Use use) {
    constexpr std::uint32_t kTries = build::kLean ? 255 : 1000;
    const DumpTarget& target = targets[stream.target];
    for (std::uint32_t left = has_full_names(target) ? kTries : 1;;) {
      std::string_view file;
      MutableBytes rest;
      stream.last_us = next_time(stream, record.head().unix_us);
      Status status = namer.make(record, target, stream.last_us, suffix, file, rest);
      if (status != Status::ok) return status;
      if (!build::kLean && rest.empty()) return Status::name_too_long;
      if constexpr (build::kFullJournal) {
        name = namer.in_directory(record, target, stream.last_us, file);
        status = use(name, rest);
      } else {
        status = use(namer.in_directory(record, target, stream.last_us, file), rest);
      }
      if (status != Status::already_exists || --left == 0) return status;
    }
  }

  /// The record's time, made later than any before. Two records of one microsecond would share a name if
  /// type, name, task and stream are the same. Between recorders the sink tells.
  static std::uint64_t next_time(const Stream& stream, std::uint64_t made_us) {
    return made_us > stream.last_us ? made_us : stream.last_us + 1;
  }

  // First: its bytes are asked for often.
  Stream streams[OPDUMP_MAX_RECORDERS];
  Sink* sink;
  const Targets& targets;
  // A list that counts nothing has no state.
  [[no_unique_address]] std::conditional_t<build::kLean, PlanList, PlanList&> plans;
  [[no_unique_address]] Maybe<!build::kLean, Reduction*> reduction;
  [[no_unique_address]] Maybe<!build::kLean, KeptTable*> kept{};
  [[no_unique_address]] std::conditional_t<kDigests, WaitingDigests, NoDigests> digests;
  DumpNamer namer;
  [[no_unique_address]] Journal journal;
  DrainerCounts counts[Targets::kCounted];
  std::atomic<std::uint8_t> last_failure{0};
};

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump
