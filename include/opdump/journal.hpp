#pragma once
#include <cstdint>
#include <string_view>

#include "opdump/counts.hpp"
#include "opdump/dump_options.hpp"
#include "opdump/sink.hpp"
#include "opdump/targets.hpp"
#include "opdump/text.hpp"

namespace opdump {
inline namespace OPDUMP_NAMESPACE {

#if OPDUMP_JOURNAL
/// Writes the journal that lets a dump prove its own completeness: `opdump.{device}.{id}.journal` in
/// the dump's directory (`add_dump_directory`), such as `{time}`. Text, a line per event, fields separated by
/// commas, the path last:
///
///     opdump-journal,1,records        format version, detail; again when the session writes on
///     from,R,S                        recorder R's lines start with sequence number S
///     begun,R,S,PATH                  record S is larger than one chunk and has begun
///     written,R,S,BYTES,PATH          record S is committed; PATH is empty after `begun`
///     lost,R,S,CAUSE,PATH             record S is lost; PATH with or without time, or empty
///     row,R,S,BYTES,PATH              what a Reduction made of record S is in `statistic.csv` beside PATH,
///     as
///                                     BYTES bytes of it; PATH is what a file of the record would have
///     reduced,R,S,CAUSE,BYTES,PATH    the same instead of the tensors, committed as PATH, or as such a row
///                                     when it has no suffix
///     gap,R,S,T                       records S to T are lost, nothing else is known of them
///     to,R,S                          recorder R's lines end before sequence number S
///     closed,COUNTS                   after the last of these nothing was captured
///
/// COUNTS are those of the session so far: wanted, captured, empty, invalid, ring_full, timed_out, too_large,
/// device_failed, written, sink_failed, degraded; then what this journal tells since its last `closed`:
/// written (and reduced), lost (and in gaps), also of records that got no line.
///
/// What a recorder lost without a trace between the records of two configs is told in the later one's
/// journal.
///
/// PATH is relative to that directory. A journal that does not end in `closed` is of a dump that was not
/// finalized. One writer per session; lines are batched in memory until `flush`. A sink that refuses them
/// costs the lines, not the records: the journal then lacks what it would prove.
class Journal {
 public:
  /// `memory` holds the batch and must exceed the longest line: `journal_line_bytes`.
  Journal(Sink& sink, MutableBytes memory, JournalDetail detail)
      : sink_(sink), memory_(memory), detail_(detail) {}

  /// While no line is batched.
  void set_detail(JournalDetail detail) { detail_ = detail; }
  bool failed() const { return failed_; }

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
    ++tally(target).written;
    if (detail_ != JournalDetail::records) return;
    add_line(target, [&](TextWriter& line) {
      add_path(add_head(line, "written", recorder, sequence).add(',').add_decimal(bytes), target, name);
    });
  }

  void lost(const DumpTarget& target, std::size_t recorder, std::uint32_t sequence, Status cause,
            const ObjectName& name) {
    ++tally(target).lost;
    add_line(target, [&](TextWriter& line) {
      add_path(add_head(line, "lost", recorder, sequence).add(',').add(to_string(cause)), target, name);
    });
  }

  void reduced(const DumpTarget& target, std::size_t recorder, std::uint32_t sequence, Status cause,
               std::uint64_t bytes, const ObjectName& name) {
    ++tally(target).written;
    add_line(target, [&](TextWriter& line) {
      add_head(line, "reduced", recorder, sequence)
          .add(',')
          .add(to_string(cause))
          .add(',')
          .add_decimal(bytes);
      add_path(line, target, name);
    });
  }

  void row(const DumpTarget& target, std::size_t recorder, std::uint32_t sequence, std::uint64_t bytes,
           const ObjectName& name) {
    ++tally(target).written;
    if (detail_ != JournalDetail::records) return;
    add_line(target, [&](TextWriter& line) {
      add_path(add_head(line, "row", recorder, sequence).add(',').add_decimal(bytes), target, name);
    });
  }

  void gap(const DumpTarget& target, std::size_t recorder, std::uint32_t first, std::uint32_t last) {
    tally(target).lost += last - first + 1;
    add_line(target,
             [&](TextWriter& line) { add_head(line, "gap", recorder, first).add(',').add_decimal(last); });
  }

  void to(const DumpTarget& target, std::size_t recorder, std::uint32_t sequence) {
    add_line(target, [&](TextWriter& line) { add_head(line, "to", recorder, sequence); });
  }

  void closed(const DumpTarget& target, const DumpCounts& counts) {
    add_line(target, [&](TextWriter& line) {
      line.add("closed");
      for (const std::uint32_t count :
           {counts.wanted, counts.captured, counts.empty, counts.invalid, counts.ring_full, counts.timed_out,
            counts.too_large, counts.device_failed, counts.written, counts.sink_failed, counts.degraded,
            tally(target).written, tally(target).lost}) {
        line.add(',').add_decimal(count);
      }
    });
    tally(target) = {};
  }

  /// Hands the batch to the sink.
  void flush() {
    if (used_ == 0) return;
    char name_memory[kMaxDumpDirectoryBytes + 50];
    TextWriter directory(name_memory);
    add_dump_directory(directory, *target_);
    TextWriter file(directory.rest());
    file.add("opdump.").add_decimal(target_->device_id).add('.').add_decimal(target_->id).add(".journal");
    const Bytes batch = memory_.first(used_);
    const Status status = sink_.append_journal({target_->root, directory.text(), file.text()}, {&batch, 1});
    failed_ = failed_ || status != Status::ok;
    used_ = 0;
  }

 private:
  struct Tally {
    const DumpTarget* target = nullptr;  // null: free
    std::uint32_t written = 0;
    std::uint32_t lost = 0;
  };

  /// The one of `target`, a free one if it has none: there are as many as targets.
  Tally& tally(const DumpTarget& target) {
    Tally* free = &tallies_[0];
    for (Tally& tally : tallies_) {
      if (tally.target == &target) return tally;
      if (tally.target == nullptr) free = &tally;
    }
    free->target = &target;
    return *free;
  }

  static TextWriter& add_head(TextWriter& line, std::string_view what, std::size_t recorder,
                              std::uint32_t sequence) {
    return line.add(what).add(',').add_decimal(recorder).add(',').add_decimal(sequence);
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
    if (detail_ != JournalDetail::none) put_line(target, fields_of(add_fields));
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
    if (target_ != &target || target_id_ != target.id) {
      flush();
      target_ = &target;
      target_id_ = target.id;
      put(fields_of([this](TextWriter& line) {
        line.add("opdump-journal,1,").add(detail_ == JournalDetail::records ? "records" : "gaps");
      }));
    }
    put(fields);
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
      if (again) failed_ = true;
      flush();
    }
  }

  Sink& sink_;
  MutableBytes memory_;
  std::size_t used_ = 0;
  const DumpTarget* target_ = nullptr;
  std::uint64_t target_id_ = 0;
  Tally tallies_[Targets::kMax];
  JournalDetail detail_;
  bool failed_ = false;
};
#else
/// Compiled out by OPDUMP_JOURNAL=0: tells nothing and takes no room.
class Journal {
 public:
  Journal(Sink&, MutableBytes, JournalDetail) {}
  void set_detail(JournalDetail) {}
  bool failed() const { return false; }
  void from(const DumpTarget&, std::size_t, std::uint32_t) {}
  void begun(const DumpTarget&, std::size_t, std::uint32_t, const ObjectName&) {}
  void written(const DumpTarget&, std::size_t, std::uint32_t, std::uint64_t, const ObjectName&) {}
  void lost(const DumpTarget&, std::size_t, std::uint32_t, Status, const ObjectName&) {}
  void reduced(const DumpTarget&, std::size_t, std::uint32_t, Status, std::uint64_t, const ObjectName&) {}
  void row(const DumpTarget&, std::size_t, std::uint32_t, std::uint64_t, const ObjectName&) {}
  void gap(const DumpTarget&, std::size_t, std::uint32_t, std::uint32_t) {}
  void to(const DumpTarget&, std::size_t, std::uint32_t) {}
  void closed(const DumpTarget&, const DumpCounts&) {}
  void flush() {}
};
#endif

/// Bytes of the longest line with a path of these texts.
constexpr std::size_t journal_line_bytes(std::size_t name_bytes) {
  return name_bytes + 160;
}

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump
