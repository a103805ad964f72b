#pragma once
#include <atomic>
#include <cstdint>
#include <string_view>

#include "opdump/counts.hpp"
#include "opdump/dump_options.hpp"
#include "opdump/model_plan.hpp"
#include "opdump/sink.hpp"
#include "opdump/targets.hpp"
#include "opdump/text.hpp"

namespace opdump {
inline namespace OPDUMP_NAMESPACE {

/// What stands for the cause of a loss that nothing tells.
inline constexpr std::string_view kUnfinishedWord = "unfinished";

#if OPDUMP_JOURNAL
/// Writes the journal that lets a dump prove its own completeness: `opdump.{device}.{id}.journal` in
/// the dump's directory (`add_dump_directory`), such as `{time}`. Text, a line per event, fields separated by
/// commas, the path last:
///
///     opdump-journal,1,records        format version, detail; again when the session writes on
///     from,R,S                        recorder R's lines start with sequence number S
///     begun,R,S,PATH                  record S is larger than one chunk and has begun
///     written,R,S,BYTES,PATH          record S is committed; PATH is empty after `begun`
///     lost,R,S,CAUSES,PATH            record S is lost; PATH with or without time, or empty
///     row,R,S,BYTES,PATH              what a Reduction made of record S is in `statistic.csv` beside PATH,
///                                     as BYTES bytes of it; PATH is what a file of the record would have
///     reduced,R,S,CAUSES,BYTES,PATH   the same instead of the tensors, committed as PATH, or as such a row
///                                     when it has no suffix
///     gap,R,S,T,CAUSES                records S to T are lost, nothing else is known of them
///     to,R,S                          recorder R's lines end before sequence number S
///     op,SEEN,FIRST,LAST,COUNTS,ID,MODEL/TYPE.NAME
///                                     all that was counted of an operator that lost or reduced records, in
///                                     the SEEN steps of model MODEL, ID: losses from step FIRST to LAST, and
///                                     the OpCounts in the order of `kOpCountFields`
///     closed,COUNTS                   after the last of these nothing was captured
///     removed,FILE                    a sink removed that file to make room, whatever is told of its record
///     dumps_removed,N,FIRST,LAST      and that N dumps from FIRST to LAST, whose directories are older
///
/// CAUSES are words of `kLossKinds`, joined by `+` where a recorder that had no room to tell has lost for
/// several, or `unfinished` where it has not come to tell; a `:` and a status in words follow where the cause
/// has several. COUNTS are the DumpCounts, in the order of `DumpCount`, of this journal's records since its
/// last `closed`, also of those that got no line.
///
/// What a recorder lost without a trace from a config whose journal is closed by then is in that one's COUNTS
/// only. From several configs at once, it is told as a gap in the journal of the next record.
///
/// Operators that failed are in no journal. PATH is relative to that directory. A journal that does not end
/// in `closed` is of a dump that was not finalized. One writer per session; lines are batched in memory until
/// `flush`. A sink that refuses them costs the lines, not the records: the journal then lacks what it would
/// prove.
class Journal {
 public:
  /// `memory` holds the batch and must exceed the longest line: `journal_line_bytes`.
  Journal(Sink& sink, MutableBytes memory, JournalDetail detail)
      : sink_(sink), memory_(memory), detail_(detail) {}

  /// While no line is batched. Forgets failures.
  void begin(JournalDetail detail) {
    detail_ = detail;
    failure_.store(0, std::memory_order_relaxed);
  }

  /// Why lines were lost since `begin`, the last time; `ok` when none were. Any context may ask.
  Status failure() const { return static_cast<Status>(failure_.load(std::memory_order_relaxed)); }

  void from(const DumpTarget& target, std::size_t recorder, std::uint32_t sequence) {
    add_line(target, [&](TextWriter& line) { add_head(line, "from", recorder, sequence); });
  }

  void begun(const DumpTarget& target, std::size_t recorder, std::uint32_t sequence, const ObjectName& name) {
    if (detail_ != JournalDetail::records) return;
    add_line(target,
             [&](TextWriter& line) { add_path(add_head(line, "begun", recorder, sequence), target, name); });
  }

  void written(const DumpTarget& target, std::size_t recorder, std::uint32_t sequence, std::uint64_t bytes,
               const ObjectName& name) {
    if (detail_ != JournalDetail::records) return;
    add_line(target, [&](TextWriter& line) {
      add_path(add_head(line, "written", recorder, sequence).add(',').add_decimal(bytes), target, name);
    });
  }

  /// `status` goes with a single cause.
  void lost(const DumpTarget& target, std::size_t recorder, std::uint32_t sequence, LossCauses causes,
            Status status, const ObjectName& name) {
    add_line(target, [&](TextWriter& line) {
      add_causes(add_head(line, "lost", recorder, sequence).add(','), causes, status);
      add_path(line, target, name);
    });
  }

  void row(const DumpTarget& target, std::size_t recorder, std::uint32_t sequence, std::uint64_t bytes,
           const ObjectName& name) {
    if (detail_ != JournalDetail::records) return;
    add_line(target, [&](TextWriter& line) {
      add_path(add_head(line, "row", recorder, sequence).add(',').add_decimal(bytes), target, name);
    });
  }

  // Apart from its callers, whose stack it would enlarge.
  [[gnu::noinline]] void reduced(const DumpTarget& target, std::size_t recorder, std::uint32_t sequence,
                                 LossCause cause, std::uint64_t bytes, const ObjectName& name) {
    add_line(target, [&](TextWriter& line) {
      add_causes(add_head(line, "reduced", recorder, sequence).add(','), bit(cause), Status::ok);
      add_path(line.add(',').add_decimal(bytes), target, name);
    });
  }

  void gap(const DumpTarget& target, std::size_t recorder, std::uint32_t first, std::uint32_t last,
           LossCauses causes) {
    add_line(target, [&](TextWriter& line) {
      add_head(line, "gap", recorder, first).add(',').add_decimal(last).add(',');
      add_causes(line, causes, Status::ok);
    });
  }

  void to(const DumpTarget& target, std::size_t recorder, std::uint32_t sequence) {
    add_line(target, [&](TextWriter& line) { add_head(line, "to", recorder, sequence); });
  }

#if OPDUMP_SMALL_CODE == 0
  /// `op` is an operator of `plan`, whose operators are counted.
  void op(const DumpTarget& target, const ModelPlan& plan, std::size_t op) {
    const OpCounts& counts = plan.op_counts[op];
    const LostSteps lost = lost_steps(counts);
    const OpDesc& desc = plan.model->ops[op];
    add_line(target, [&](TextWriter& line) {
      line.add("op,").add_decimal(plan.steps_seen).add(',').add_decimal(lost.first);
      line.add(',').add_decimal(lost.last);
      for (const auto field : kOpCountFields) line.add(',').add_decimal(counts.*field);
      line.add(',').add_decimal(plan.model->id).add(',').add_sanitised(plan.directory_name);
      line.add('/').add_sanitised(desc.type).add('.').add_sanitised(desc.name);
    });
  }
#endif

  void closed(const DumpTarget& target, const DumpCounts& counts) {
    add_line(target, [&](TextWriter& line) {
      line.add("closed");
      for (const auto field : kDumpCountFields) line.add(',').add_decimal(counts.*field);
    });
  }

  /// Hands the batch to the sink.
  void flush() {
    if (used_ == 0) return;
    char directory[kMaxDumpDirectoryBytes];
    const char* const directory_end = put_dump_directory(directory, *target_);
    char file[7 + 10 + 1 + kMaxDecimalBytes + 8];
    char* end = put_short_decimal(put_text(file, "opdump."), target_->device_id);
    *end++ = '.';
    end = put_text(put_decimal(end, target_->id), ".journal");
    const Bytes batch = memory_.first(used_);
    const Status status =
        sink_.append_journal({target_->root, {directory, directory_end}, {file, end}}, {&batch, 1});
    if (status != Status::ok) fail(status);
    used_ = 0;
  }

 private:
  static TextWriter& add_head(TextWriter& line, std::string_view what, std::size_t recorder,
                              std::uint32_t sequence) {
    return line.add(what).add(',').add_decimal(recorder).add(',').add_decimal(sequence);
  }

  static void add_causes(TextWriter& line, LossCauses causes, Status status) {
    if (causes == 0) line.add(kUnfinishedWord);
    bool first = true;
    for (std::size_t i = 0; i < kLossCauses; ++i) {
      const LossCause cause = static_cast<LossCause>(i);
      if ((causes & bit(cause)) == 0) continue;
      line.add(first ? "" : "+").add(kind_of(cause).word);
      if (status != Status::ok && status != kind_of(cause).status) line.add(':').add(to_string(status));
      first = false;
    }
  }

  static void add_path(TextWriter& line, const DumpTarget& target, const ObjectName& name) {
    line.add(',');
    if (name.file.empty()) return;
    const std::size_t above = target.directory_bytes == 0 ? 0 : target.directory_bytes + std::size_t{1};
    if (name.directory.size() > above) {
      std::string_view below = name.directory;
      below.remove_prefix(above);
      line.add(below).add('/');
    }
    line.add(name.file);
  }

  template <class AddFields>
  void add_line(const DumpTarget& target, const AddFields& add_fields) {
    if (detail_ != JournalDetail::none && !holds_failures(target)) put_line(target, fields_of(add_fields));
  }

  /// What writes the fields of a line, without its type: the code around it is there once.
  struct Fields {
    void (*add)(TextWriter& line, const void* fields);
    const void* fields;
  };

  template <class AddFields>
  static Fields fields_of(const AddFields& add_fields) {
    return {[](TextWriter& line, const void* fields) { (*static_cast<const AddFields*>(fields))(line); },
            &add_fields};
  }

  void put_line(const DumpTarget& target, const Fields& fields) {
    const bool is_new = target.id > target_id_;
    if (target_ != &target || target_id_ != target.id) {
      flush();
      target_ = &target;
      target_id_ = target.id;
      put(fields_of([this](TextWriter& line) {
        line.add("opdump-journal,1,").add(detail_ == JournalDetail::records ? "records" : "gaps");
      }));
    }
    put(fields);
    // A dump has its journal from the first record on: a quota removes only what a journal can tell of.
    if (is_new) flush();
  }

  void put(const Fields& fields) {
    for (const bool again : {false, true}) {
      const MutableBytes room = memory_.subspan(used_);
      TextWriter line({reinterpret_cast<char*>(room.data()), room.size()});
      fields.add(line, fields.fields);
      line.add('\n');
      if (!line.overflowed()) {
        used_ += line.text().size();
        return;
      }
      if (again) fail(Status::no_memory);
      flush();
    }
  }

  void fail(Status cause) {
    failure_.store(static_cast<std::uint8_t>(cause), std::memory_order_relaxed);
  }

  Sink& sink_;
  MutableBytes memory_;
  std::size_t used_ = 0;
  const DumpTarget* target_ = nullptr;
  std::uint64_t target_id_ = 0;
  JournalDetail detail_;
  std::atomic<std::uint8_t> failure_{0};
};
#else
/// Compiled out by OPDUMP_JOURNAL=0: tells nothing and takes no room.
class Journal {
 public:
  Journal(Sink&, MutableBytes, JournalDetail) {}
  void begin(JournalDetail) {}
  Status failure() const { return Status::ok; }
  void from(const DumpTarget&, std::size_t, std::uint32_t) {}
  void begun(const DumpTarget&, std::size_t, std::uint32_t, const ObjectName&) {}
  void written(const DumpTarget&, std::size_t, std::uint32_t, std::uint64_t, const ObjectName&) {}
  void lost(const DumpTarget&, std::size_t, std::uint32_t, LossCauses, Status, const ObjectName&) {}
  void reduced(const DumpTarget&, std::size_t, std::uint32_t, LossCause, std::uint64_t, const ObjectName&) {}
  void row(const DumpTarget&, std::size_t, std::uint32_t, std::uint64_t, const ObjectName&) {}
  void gap(const DumpTarget&, std::size_t, std::uint32_t, std::uint32_t, LossCauses) {}
  void to(const DumpTarget&, std::size_t, std::uint32_t) {}
  void op(const DumpTarget&, const ModelPlan&, std::size_t) {}
  void closed(const DumpTarget&, const DumpCounts&) {}
  void flush() {}
};
#endif

/// Bytes of the longest line with a path of these texts.
constexpr std::size_t journal_line_bytes(std::size_t name_bytes) {
  return name_bytes + 176;
}

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump
