#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <new>
#include <type_traits>

#include "opdump/counts.hpp"
#include "opdump/dump_name.hpp"
#include "opdump/journal.hpp"
#include "opdump/known_heads.hpp"
#include "opdump/overflow_report.hpp"
#include "opdump/plan_list.hpp"
#include "opdump/record_format.hpp"
#include "opdump/record_layout.hpp"
#include "opdump/record_view.hpp"
#include "opdump/record_writer.hpp"
#include "opdump/reduction.hpp"
#include "opdump/ring.hpp"
#include "opdump/sink.hpp"
#include "opdump/targets.hpp"
#include "opdump/untold_losses.hpp"

namespace opdump {
inline namespace OPDUMP_NAMESPACE {

/// Bytes of scratch that a drainer needs for names of these lengths.
constexpr std::size_t drain_scratch_bytes(std::size_t model_name_bytes, std::size_t type_bytes,
                                          std::size_t name_bytes) {
  // A report has a name of its own.
  constexpr std::size_t kReportName = std::string_view("OpdebugNode_OpDebug").size();
  if (OPDUMP_OVERFLOW != 0 && type_bytes + name_bytes < kReportName) name_bytes = kReportName - type_bytes;
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
      : sink_(sink),
        targets_(targets),
        plans_(plans),
        reduction_(reduction),
        namer_(scratch.subspan(scratch.size() / 2)),
        journal_(sink, scratch.first(scratch.size() / 2), detail) {}
  Drainer(const Drainer&) = delete;
  Drainer& operator=(const Drainer&) = delete;

  /// While nothing is drained and every target is closed. Forgets what went wrong with the journals before.
  void begin(JournalDetail detail) { journal_.begin(detail); }

  /// Whether names of these lengths fit the scratch.
  bool fits(std::size_t model_name_bytes, std::size_t type_bytes, std::size_t name_bytes) const {
    return drain_scratch_bytes(model_name_bytes, type_bytes, name_bytes) <= 2 * namer_.memory_bytes();
  }

  /// Moves whole chunks out of ring `slot` until it is empty or `budget_bytes` bytes have gone. Returns the
  /// bytes moved.
  std::size_t drain(std::size_t slot, Ring& ring, std::size_t budget_bytes) {
    if (OPDUMP_SMALL_CODE == 0) crowded_ = crowded_ || ring.used() > ring.size() / 8;
    Stream& stream = stream_of(slot);
    std::size_t moved = 0;
    std::uint32_t unreleased = 0;
    while (moved < budget_bytes) {
      if (ring.all_popped() && stream.looks_to_pass != 0) --stream.looks_to_pass;
      const Bytes chunk = ring.peek();
      if (chunk.data() == nullptr) {
        stream.looks_to_pass = 0;
        break;
      }
      moved += chunk.size();
      take_chunk(slot, chunk);
      ring.pop();
      if (kReleaseEach) {
        ring.release();
        continue;
      }
      unreleased += static_cast<std::uint32_t>(chunk.size());
      // Each release takes the line with the tail away from the producer's core, so it is not done per chunk.
      if (unreleased >= ring.size() / 8) {
        ring.release();
        unreleased = 0;
      }
    }
    if (!kReleaseEach && moved != 0) {
      // In this order, so that whoever sees the ring empty finds all of it in the sink.
      journal_.flush();
      ring.release();
    }
    return moved;
  }

  /// Tells the journal of what the recorder of ring `slot` has lost without a trace, if nothing in the ring
  /// will: so that a crash does not hide it, though no record comes any more.
  void tell_untold(std::size_t slot, Ring& ring, const UntoldLosses& untold) {
    std::uint32_t next = 0;
    const LossGap gap = untold.look(next);
    if (gap.causes == 0 || ring.peek().data() != nullptr) return;
    Stream& stream = stream_of(slot);
    // It may be older than what has come since, or of several targets, so that only the next record says
    // where to tell it.
    const bool is_old = static_cast<std::int32_t>(next - stream.expected) < 0;
    if (is_old || target_of(gap, stream.target) == Targets::kNone) return;
    end_unfinished(slot, stream, gap.causes);
    tell_gap(slot, stream, next, gap, stream.target);
    journal_.flush();
  }

  /// Takes `data` as the next bytes of the record that ring `slot`, which is empty, has begun; `last`: it is
  /// whole then. Stands for data chunks of bytes that need not go through the ring.
  void take_in_place(std::size_t slot, Bytes data, bool last) {
    take_data(slot, data, last);
    // No `drain` comes after it.
    if (last) journal_.flush();
  }

  /// Whether a ring was more than an eighth full when it was drained, since the last call of this: it may
  /// soon be full. OPDUMP_SMALL_CODE does not look.
  bool take_crowded() {
    const bool crowded = crowded_;
    crowded_ = false;
    return crowded;
  }

  /// Begins the stream of `slot`, which is not drained yet, with memory for the heads that come with a
  /// number.
  void start(std::size_t slot, std::span<KnownHeads::Entry> heads) { stream_of(slot).heads.reset(heads); }

  /// Asks for `passed` to tell when ring `slot` is drained of all that is in it now.
  void mark(std::size_t slot) {
    // What is there now is seen with the next look at the head at the latest; when that is used up there is
    // another.
    stream_of(slot).looks_to_pass = 2;
  }

  bool passed(std::size_t slot) const { return stream_of(slot).looks_to_pass == 0; }

  /// Ends the stream of `slot`, whose ring is empty and whose recorder has given out sequence numbers below
  /// `next_sequence` and lost `gap` at the end: gives up an unfinished record and tells the journal.
  void finish(std::size_t slot, std::uint32_t next_sequence, const LossGap& gap) {
    Stream& stream = stream_of(slot);
    end_unfinished(slot, stream, gap.causes);
    tell_gap(slot, stream, next_sequence, gap, stream.target);
    switch_target(slot, stream, Targets::kNone);
    stream.looks_to_pass = 0;
    journal_.flush();
  }

  /// Tells the journal of `plan`, while nothing is drained, which of its operators lost or reduced records.
  void tell_ops([[maybe_unused]] const ModelPlan& plan) {
#if OPDUMP_SMALL_CODE == 0
    for (std::size_t op = 0; op < plan.op_counts.size(); ++op) {
      const OpCounts& counts = plan.op_counts[op];
      if (counts.lost() != 0 || counts.degraded != 0) journal_.op(targets_[plan.target], plan, op);
    }
#endif
  }

  /// Closes a target's journal: no stream has records for it any more. `counts` is what its recorders
  /// counted, and becomes all that was counted; the drainer's own counts of it begin anew. Without journals
  /// all counts go on.
  void close(std::uint8_t target, DumpCounts& counts) {
    for (std::size_t slot = 0; slot < OPDUMP_MAX_RECORDERS; ++slot) {
      if (stream_of(slot).target != target) continue;
      end_unfinished(slot, stream_of(slot), 0);
      switch_target(slot, stream_of(slot), Targets::kNone);
    }
    forget_names(target);
    if (OPDUMP_JOURNAL != 0) {
      add_counts(target, counts);
      counts_[target].clear();
    }
    journal_.closed(targets_[target], counts);
    journal_.flush();
  }

  /// The target of that index is another one from now on.
  void forget_names(std::uint8_t target) {
    namer_.forget(target);
  }

  /// Adds the drainer's counts of the records of group `group` (`Targets::counted`) to `counts`. Any context
  /// may ask.
  void add_counts(std::size_t group, DumpCounts& counts) const {
    counts_[group].add_to(counts);
  }

  /// Cause of the latest record the sink lost, `ok` if there was none.
  Status last_failure() const {
    return static_cast<Status>(last_failure_.load(std::memory_order_relaxed));
  }

  /// Why lines of the journal were lost, so that it proves less than it should; `ok` when none were.
  Status journal_failure() const {
    return journal_.failure();
  }

 private:
  /// There is no line to take away where there is but one core, and no journal that has to come first.
  static constexpr bool kReleaseEach = OPDUMP_SMALL_CODE != 0 && OPDUMP_JOURNAL == 0;

  /// Nobody else asks for sequence numbers.
  static constexpr bool kCountsRecords = OPDUMP_JOURNAL != 0 || OPDUMP_DEGRADE != 0;

  enum class State : std::uint8_t { idle, writing, discarding };

  struct Stream {
    RecordWriter writer;
    [[no_unique_address]] KnownHeads heads;
    std::uint64_t last_us = 0;
    [[no_unique_address]] OpStep op{};  // of the record that is being written
    std::uint32_t expected = 0;         // sequence number that comes next if nothing is lost
    State state = State::idle;          // of record `expected - 1`
    std::uint8_t target = Targets::kNone;
    Status failure = Status::ok;
    std::uint8_t looks_to_pass = 0;  // at the ring's head, until what was in it at `mark` is drained
  };

  /// Files of small code are ready when they come.
  struct NoReduction {
    explicit NoReduction(Reduction*) {}
  };

  Stream& stream_of(std::size_t slot) {
    return streams_[OPDUMP_MAX_RECORDERS == 1 ? 0 : slot];
  }
  const Stream& stream_of(std::size_t slot) const {
    return streams_[OPDUMP_MAX_RECORDERS == 1 ? 0 : slot];
  }

  void take_data(std::size_t slot, Bytes data, bool last) {
    Stream& stream = stream_of(slot);
    if (stream.state == State::writing) note_failure(stream, stream.writer.append(data));
    if (last) end_record(slot, stream, {});
  }

  void take_chunk(std::size_t slot, Bytes chunk) {
    Stream& stream = stream_of(slot);
    if (kDoubtRings && chunk.size() < sizeof(ChunkHead)) return;
    const ChunkHead& head = *std::launder(reinterpret_cast<const ChunkHead*>(chunk.data()));
    const Bytes body = chunk.subspan(sizeof head);
    if (kDoubtRings && head.head_bytes > body.size()) return;
    if (head.kind == ChunkKind::data) {
      take_data(slot, body.subspan(head.head_bytes), head.last());
      return;
    }
    const Bytes head_body = body.first(head.head_bytes);
#if OPDUMP_SMALL_CODE == 0
    if (head.kind == ChunkKind::again) {
      const Result<const RecordView*> known = stream.heads.recall(head_body);
      if (!known.ok()) return;
      const Bytes data = body.subspan(head.head_bytes);
      if (!head.last() || !put_next(slot, stream, *known.value(), data))
        begin_record(slot, stream, *known.value(), head.gap(), data, head.last());
      return;
    }
#endif
    const Result<RecordView> record = RecordView::parse(head_body);
    if (kDoubtRings && (!record.ok() || record.value().head().target >= Targets::kMax)) return;
    if (head.kind == ChunkKind::record ||
        (OPDUMP_SMALL_CODE != 0 && OPDUMP_STATISTICS != 0 && head.kind == ChunkKind::reduced)) {
#if OPDUMP_SMALL_CODE == 0
      stream.heads.keep(head_body, record.value(), targets_[record.value().head().target]);
#endif
      const std::uint32_t file_at = head.head_bytes - record.value().head().file_bytes;
#if OPDUMP_SMALL_CODE
      take_file(slot, stream, record.value(), head, body.subspan(file_at));
#else
      begin_record(slot, stream, record.value(), head.gap(), body.subspan(file_at), head.last());
    } else if (OPDUMP_STATISTICS != 0 && head.kind == ChunkKind::reduced) {
      take_reduced(slot, stream, record.value(), head, body.subspan(head.head_bytes));
#endif
#if OPDUMP_FAULTS
    } else if (head.kind == ChunkKind::report) {
      take_report(slot, stream, record.value(), head.gap(), body.subspan(head.head_bytes));
#endif
    } else if (OPDUMP_JOURNAL != 0) {
      take_loss(slot, stream, record.value(), head);
    }
  }

#if OPDUMP_SMALL_CODE
  /// Begins the file of a record, whole or reduced, which goes on with `data`.
  void take_file(std::size_t slot, Stream& stream, const RecordView& record, const ChunkHead& head,
                 const Bytes& data) {
    replace(slot, stream, record, head.gap());
    const DumpTarget& target = targets_[stream.target];
    namer_.enter(record, target);
    const bool reduced = OPDUMP_STATISTICS != 0 && head.kind == ChunkKind::reduced;
    const std::string_view suffix = Reduction::kSuffix.substr(0, reduced ? Reduction::kSuffix.size() : 0);
    ObjectName name;
    const Status status = try_names(stream, record, suffix, name, [&](const ObjectName& made, MutableBytes) {
      return stream.writer.begin(sink_, made, data);
    });
    stream.state = State::writing;
    note_failure(stream, status);
    if (head.last()) {
      end_record(slot, stream, name, head.cause);
    } else {
      journal_.begun(target, slot, record.head().sequence, name);
    }
  }
#else
  /// Writes a record of which all is there, name and nano head included, when it comes right behind the one
  /// before; false, with nothing changed but the latest time stamp, when it has to be done step by step.
  [[gnu::always_inline]] bool put_next(std::size_t slot, Stream& stream, const RecordView& record,
                                       Bytes data) {
    const RecordHead& head = record.head();
    if (record.nano_head().empty() || stream.state != State::idle || head.sequence != stream.expected ||
        head.target != stream.target)
      return false;
    const DumpTarget& target = targets_[stream.target];
    ObjectName name;
    const std::uint64_t time = next_time(stream, record);
    if (!namer_.make_again(record, target, time, name)) return false;
    stream.last_us = time;
    Status status = stream.writer.begin_ready(sink_, name, record, data);
    if (status == Status::already_exists) return false;
    if (status == Status::ok) status = stream.writer.commit();
    stream.expected = head.sequence + 1;
    if (status == Status::ok) [[likely]] {
      counts_[Targets::counted(stream.target)].add_one(DumpCount::written);
      journal_.written(target, slot, head.sequence, stream.writer.bytes(), name);
    } else {
      stream.op = {head.step, head.load, head.op};
      discard(stream, status);
      tell_end(slot, stream, name);
    }
    return true;
  }

  void begin_record(std::size_t slot, Stream& stream, const RecordView& record, const LossGap& gap,
                    Bytes data, bool whole) {
    end_unfinished(slot, stream, gap.causes);
    reach(slot, stream, record.head(), gap);
    namer_.enter(record, targets_[stream.target]);
    ObjectName name;
    const Status status = open(stream, record, data, name);
    stream.state = State::writing;
    note_failure(stream, status);
    if (whole) {
      end_record(slot, stream, name);
    } else {
      journal_.begun(targets_[stream.target], slot, record.head().sequence, name);
    }
  }
#endif

  void end_record(std::size_t slot, Stream& stream, const ObjectName& name, Status cause = Status::ok) {
    if (stream.state == State::writing) note_failure(stream, stream.writer.commit());
    tell_end(slot, stream, name, cause);
  }

  /// `cause`: why the record is reduced; `ok`: because it is wanted so, or it is not.
  void tell_end(std::size_t slot, Stream& stream, const ObjectName& name, Status cause = Status::ok) {
    const DumpTarget& target = targets_[stream.target];
    // A record that its recorder gives up is counted there, so one that the sink loses counts only once it is
    // whole.
    if (stream.state == State::writing) {
      counts_[Targets::counted(stream.target)].add_one(DumpCount::written);
      if (OPDUMP_SMALL_CODE != 0 && cause != Status::ok) {
        journal_.reduced(target, slot, stream.expected - 1, recorder_cause(cause), stream.writer.bytes(),
                         name);
      } else {
        journal_.written(target, slot, stream.expected - 1, stream.writer.bytes(), name);
      }
    } else if (stream.state == State::discarding) {
      const LossCause lost = sink_cause(stream.failure);
      counts_[Targets::counted(stream.target)].add_one(count_of(lost));
      plans_.count_loss(stream.op, lost);
      journal_.lost(target, slot, stream.expected - 1, bit(lost), stream.failure, name);
    }
    stream.state = State::idle;
  }

  void take_loss(std::size_t slot, Stream& stream, const RecordView& record, const ChunkHead& head) {
    replace(slot, stream, record, head.gap());
    MutableBytes rest;
    const DumpTarget& target = targets_[stream.target];
    std::string_view untimed;
    namer_.enter(record, target);
    static_cast<void>(namer_.make(record, target, 0, {}, untimed, rest));
    const std::size_t time = untimed.rfind('.');
    if (time != std::string_view::npos) untimed = {untimed.data(), time};
    journal_.lost(target, slot, record.head().sequence, bit(recorder_cause(head.cause)), head.cause,
                  namer_.in_directory(target, untimed));
  }

#if OPDUMP_SMALL_CODE == 0
  void take_reduced(std::size_t slot, Stream& stream, const RecordView& record, const ChunkHead& head,
                    Bytes reduced) {
    replace(slot, stream, record, head.gap());
    ObjectName name;
    std::uint64_t bytes = 0;
    Status status = Status::malformed;
    const DumpTarget& target = targets_[stream.target];
    namer_.enter(record, target);
    const auto write = [&](auto one_way) {
      const Result<std::uint64_t> written = one_way();
      bytes = written.value();
      return written.status();
    };
    if (reduction_ == nullptr ||
        reduced.size() != std::size_t{record.tensor_count()} * reduction_->bytes_per_tensor()) {
      status = Status::malformed;
    } else if (has_table(target.layout)) {
      // A row has the time of the tensor's own file, where there is one.
      if (record.head().unix_us > stream.last_us) stream.last_us = record.head().unix_us;
      MutableBytes rest;
      std::string_view file;
      status = namer_.make(record, target, stream.last_us, {}, file, rest);
      if (status == Status::ok) {
        name = namer_.in_directory(target, file);
        status = write(
            [&] { return reduction_->write_rows(sink_, name, target, stream.last_us, record, reduced); });
      }
    } else {
      status =
          try_names(stream, record, reduction_->suffix(), name, [&](const ObjectName& made, MutableBytes) {
            return write([&] { return reduction_->write(sink_, made, target, record, reduced); });
          });
    }
    if (status == Status::ok) {
      counts_[Targets::counted(stream.target)].add_one(DumpCount::written);
      if (head.cause != Status::ok) {
        journal_.reduced(target, slot, record.head().sequence, recorder_cause(head.cause), bytes, name);
      } else if (has_table(target.layout)) {
        journal_.row(target, slot, record.head().sequence, bytes, name);
      } else {
        journal_.written(target, slot, record.head().sequence, bytes, name);
      }
    } else {
      note_failure(stream, status);
      end_record(slot, stream, name);
    }
  }
#endif

#if OPDUMP_FAULTS
  /// Writes the report behind the operator's record, which it ends: both are committed together or given up.
  /// Where each tensor is a record of its own nothing is unfinished.
  void take_report(std::size_t slot, Stream& stream, const RecordView& record, const LossGap& gap,
                   Bytes body) {
    OverflowReport report;
    if (body.size() != sizeof report) return;
    std::memcpy(static_cast<void*>(&report), body.data(), sizeof report);
    const bool ends_record = stream.state != State::idle;
    if (!ends_record) reach(slot, stream, record.head(), gap);
    RecordWriter writer;
    ObjectName name;
    Status status = stream.state == State::discarding ? stream.failure
                                                      : open_report(stream, record, report, writer, name);
    if (ends_record) {
      if (status == Status::ok) {
        status = stream.writer.commit_with(writer);
      } else if (stream.state == State::writing) {
        stream.writer.abort();
      }
      note_failure(stream, status);
      tell_end(slot, stream, {});
      reach(slot, stream, record.head(), gap);
    } else if (status == Status::ok) {
      status = writer.commit();
    }
    stream.writer = writer;
    stream.state = State::writing;
    note_failure(stream, status);
    tell_end(slot, stream, name);
  }

  Status open_report(Stream& stream, const RecordView& record, const OverflowReport& report,
                     RecordWriter& writer, ObjectName& name) {
    RecordFormat* const format = targets_[stream.target].format;
    const bool as_text = format != nullptr && format->one_tensor();
    namer_.enter(record, targets_[stream.target]);
    const Status status =
        try_names(stream, record, as_text ? RecordFormat::kReportSuffix : std::string_view(), name,
                  [&](const ObjectName& made, MutableBytes rest) {
                    return as_text ? writer.begin_report(sink_, made, report, *format)
                                   : writer.begin(sink_, made, record, {}, rest, format);
                  });
    return status != Status::ok || as_text ? status : append_report(writer, report);
  }

  static Status append_report(RecordWriter& writer, const OverflowReport& report) {
    constexpr std::size_t kPieceWords = 16;
    static_assert(kOpDebugWords % kPieceWords == 0);
    for (std::size_t word = 0; word < kOpDebugWords; word += kPieceWords) {
      std::byte piece[kPieceWords * 8];
      for (std::size_t i = 0; i < kPieceWords; ++i)
        store_little_endian(piece + i * 8, op_debug_word(report, word + i));
      if (const Status status = writer.append(piece); status != Status::ok) return status;
    }
    return Status::ok;
  }
#endif

  /// Gives up the unfinished record that `record` comes instead of, if there is one.
  void replace(std::size_t slot, Stream& stream, const RecordView& record, const LossGap& gap) {
    const bool had_begun =
        kCountsRecords && stream.state != State::idle && record.head().sequence == stream.expected - 1;
    if (had_begun) {
      if (stream.state == State::writing) stream.writer.abort();
      stream.state = State::idle;
    } else {
      if (stream.state != State::idle) end_unfinished(slot, stream, gap.causes);
      reach(slot, stream, record.head(), gap);
    }
  }

  /// Follows the stream to the target and sequence number of `head`.
  void reach(std::size_t slot, Stream& stream, const RecordHead& head, const LossGap& gap) {
    tell_gap(slot, stream, head.sequence, gap, head.target);
    switch_target(slot, stream, head.target);
    if (kCountsRecords) stream.expected = head.sequence + 1;
#if OPDUMP_SMALL_CODE == 0
    stream.op = {head.step, head.load, head.op};
#endif
  }

  void switch_target(std::size_t slot, Stream& stream, std::uint8_t target) {
    if (stream.target == target) return;
    if (stream.target != Targets::kNone) journal_.to(targets_[stream.target], slot, stream.expected);
    stream.target = target;
    if (target != Targets::kNone) journal_.from(targets_[target], slot, stream.expected);
  }

  /// The open target that `gap` was lost from, `otherwise` when there are several; none when it is closed.
  std::uint8_t target_of(const LossGap& gap, std::uint8_t otherwise) const {
    if (gap.target == 0) return otherwise;
    for (std::uint8_t target = 0; target < Targets::kMax; ++target) {
      if (targets_.state(target) != Targets::State::free && targets_[target].number == gap.target)
        return target;
    }
    return Targets::kNone;
  }

  void tell_gap(std::size_t slot, Stream& stream, std::uint32_t next, const LossGap& gap,
                std::uint8_t otherwise) {
    if (OPDUMP_JOURNAL == 0 || next == stream.expected) return;
    switch_target(slot, stream, target_of(gap, otherwise));
    if (stream.target != Targets::kNone)
      journal_.gap(targets_[stream.target], slot, stream.expected, next - 1, gap.causes);
    stream.expected = next;
  }

  void end_unfinished(std::size_t slot, Stream& stream, LossCauses causes) {
    if (stream.state == State::idle) return;
    if (stream.state == State::writing) stream.writer.abort();
    stream.state = State::idle;
    journal_.lost(targets_[stream.target], slot, stream.expected - 1, causes, Status::ok, {});
  }

  [[gnu::always_inline]] void note_failure(Stream& stream, Status status) {
    if (status != Status::ok) discard(stream, status);
  }

  void discard(Stream& stream, Status status) {
    stream.state = State::discarding;
    stream.failure = status;
    last_failure_.store(static_cast<std::uint8_t>(status), std::memory_order_relaxed);
  }

#if OPDUMP_SMALL_CODE == 0
  [[gnu::noinline]] Status open(Stream& stream, const RecordView& record, const Bytes& data,
                                ObjectName& name) {
    const DumpTarget& target = targets_[stream.target];
    char suffix_memory[kMaxSuffixBytes];
    const std::string_view suffix =
        target.format == nullptr ? std::string_view() : target.format->suffix(record, target, suffix_memory);
    return try_names(stream, record, suffix, name, [&](const ObjectName& made, MutableBytes rest) {
      return stream.writer.begin(sink_, made, record, data, rest, target.format);
    });
  }
#endif

  /// Sets `name` and calls `use(name, rest of scratch)`, with later and later time stamps while that says
  /// `already_exists`.
  template <class Use>
  [[gnu::always_inline]] Status try_names(Stream& stream, const RecordView& record, std::string_view suffix,
                                          [[maybe_unused]] ObjectName& name, Use use) {
    constexpr std::uint32_t kTries = 1000;
    const DumpTarget& target = targets_[stream.target];
    for (std::uint32_t left = kTries;;) {
      std::string_view file;
      MutableBytes rest;
      stream.last_us = next_time(stream, record);
      Status status = namer_.make(record, target, stream.last_us, suffix, file, rest);
      if (status != Status::ok) return status;
      if (OPDUMP_SMALL_CODE == 0 && rest.empty()) return Status::name_too_long;
#if OPDUMP_JOURNAL
      name = namer_.in_directory(target, file);
      status = use(name, rest);
#else
      status = use(namer_.in_directory(target, file), rest);
#endif
      if (status != Status::already_exists || --left == 0) return status;
    }
  }

  /// The record's time, made later than any before. Two records of one microsecond would share a name if
  /// type, name, task and stream are the same. Between recorders the sink tells.
  static std::uint64_t next_time(const Stream& stream, const RecordView& record) {
    const std::uint64_t made = record.head().unix_us;
    return made > stream.last_us ? made : stream.last_us + 1;
  }

  Sink& sink_;
  const Targets& targets_;
  // Of small code it has no state.
  [[no_unique_address]] std::conditional_t<OPDUMP_SMALL_CODE != 0, PlanList, PlanList&> plans_;
  [[no_unique_address]] std::conditional_t<OPDUMP_SMALL_CODE != 0, NoReduction, Reduction*> reduction_;
  DumpNamer namer_;
  [[no_unique_address]] Journal journal_;
  Stream streams_[OPDUMP_MAX_RECORDERS];
  CountBlock<DumpCount::first_sink_cause, DumpCount::written> counts_[Targets::kCounted];
  std::atomic<std::uint8_t> last_failure_{0};
  bool crowded_ = false;
};

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump
