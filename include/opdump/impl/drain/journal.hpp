#pragma once
#include <array>
#include <atomic>
#include <cstdint>
#include <string_view>

#include "opdump/base/build.hpp"
#include "opdump/base/text.hpp"
#include "opdump/format/journal_lines.hpp"
#include "opdump/impl/drain/dump_name.hpp"
#include "opdump/impl/record/targets.hpp"
#include "opdump/port/device_memory.hpp"
#include "opdump/port/sink.hpp"
#include "opdump/types/account.hpp"
#include "opdump/types/clock_step.hpp"
#include "opdump/types/config.hpp"
#include "opdump/types/counts.hpp"
#include "opdump/types/plan.hpp"

namespace opdump {
inline namespace OPDUMP_NAMESPACE {

/// What stands for the cause of a loss that nothing tells.
inline constexpr std::string_view kUnfinishedWord = "unfinished";

/// Of each text of a line `never`.
inline constexpr std::size_t kMostNeverTextBytes = 100;

/// The lines `written` up to the path. Mostly each differs from the one before in the sequence number, by 1.
class WrittenHead {
 public:
  static constexpr std::size_t kBytes = 48;

  /// Puts the line's head where there is room for `kBytes`, and returns where it ends.
  char* put(char* to, std::uint32_t recorder, std::uint32_t sequence, std::uint32_t bytes) {
    if (recorder != recorder_ || sequence != sequence_ + 1 || bytes != bytes_ || !count_up()) [[unlikely]]
      make(recorder, sequence, bytes);
    sequence_ = sequence;
    // In pieces of a register; of all at once GCC makes a loop.
    for (std::size_t at = 0; at < kBytes; at += 16) std::memcpy(to + at, text_ + at, 16);
    return to + end_;
  }

 private:
  /// Makes the sequence number in the text the next one; false when that has more digits.
  bool count_up() {
    char* digit = text_ + digits_end_;
    while (*--digit == '9') *digit = '0';
    if (*digit == ',') return false;
    ++*digit;
    return true;
  }

  OPDUMP_APART void make(std::uint32_t recorder, std::uint32_t sequence, std::uint32_t bytes) {
    recorder_ = recorder;
    bytes_ = bytes;
    char* to = put_number(put_text(text_, kJournalStart<JournalLineKind::written>), recorder);
    *to++ = ',';
    to = put_number(to, sequence);
    digits_end_ = static_cast<std::uint8_t>(to - text_);
    *to++ = ',';
    to = put_number(to, bytes);
    *to++ = ',';
    end_ = static_cast<std::uint8_t>(to - text_);
  }

  std::uint32_t recorder_ = UINT32_MAX;
  std::uint32_t sequence_ = 0;
  std::uint32_t bytes_ = 0;
  std::uint8_t digits_end_ = 0;
  std::uint8_t end_ = 0;
  char text_[kBytes] = {};
};

/// Counts of losses in a line `forgotten`: one for each of `kLossKinds`, and one for several of them.
inline constexpr std::size_t kForgottenLosses = kLossCauses + 1;

/// A set of the recorders that a journal may have.
class RecorderSet {
 public:
  bool has(std::size_t recorder) const { return (bits_[recorder / 32] >> recorder % 32 & 1) != 0; }
  void erase(std::size_t recorder) { bits_[recorder / 32] &= ~(std::uint32_t{1} << recorder % 32); }
  void fill() { bits_.fill(UINT32_MAX); }

 private:
  std::array<std::uint32_t, 8> bits_{};
};

/// Writes the journal that lets a dump prove its own completeness, of the lines that format/journal_lines.hpp has.
///
/// A dump of operators that failed has a journal from the first such
/// operator on, and none when no operator fails. A journal that does not end in `closed` is of a dump that
/// was not finalized. One writer per session; lines are batched in memory until `flush`. A sink that refuses
/// them costs the lines, not the records: the journal then lacks what it would prove, and goes on with its
/// head. With OPDUMP_JOURNAL=0 (`kHere` is false) it tells nothing and takes no room.
template <bool kHere>
class BasicJournal {
  using Kind = JournalLineKind;

 public:
  /// `memory` holds the batch and must exceed the longest line: `journal_line_bytes`.
  BasicJournal(Sink& sink, MutableBytes memory, JournalDetail detail) : batch_(sink, memory, detail) {}

  /// While the batch is empty and no target has a journal.
  void write_to(Sink& sink) {
    if constexpr (kHere) batch_.sink = &sink;
  }

  /// While no line is batched. Forgets failures.
  void begin(JournalDetail detail) {
    if constexpr (kHere) {
      batch_.detail = detail;
      batch_.failure.store(0, std::memory_order_relaxed);
    }
  }

  /// Why lines were lost since `begin`, the last time; `ok` when none were. Any context may ask.
  Status failure() const {
    if constexpr (!kHere)
      return Status::ok;
    else
      return static_cast<Status>(batch_.failure.load(std::memory_order_relaxed));
  }

  void from(const DumpTarget& target, std::size_t recorder, std::uint32_t sequence) {
    if constexpr (kHere) batch_.unsure.erase(recorder);
    add_line(target,
             [&](TextWriter& line) { add_head(line, kJournalStart<Kind::from>, recorder, sequence); });
  }

  void begun(const DumpTarget& target, std::size_t recorder, std::uint32_t sequence, const ObjectName& name) {
    add_record_line(target, [&](TextWriter& line) {
      add_path(add_head(line, kJournalStart<Kind::begun>, recorder, sequence), target, name);
    });
  }

  void written(const DumpTarget& target, std::size_t recorder, std::uint32_t sequence, std::uint64_t bytes,
               const ObjectName& name) {
    add_record_line(target, [&](TextWriter& line) {
      add_path(add_head(line, kJournalStart<Kind::written>, recorder, sequence).add(',').add_decimal(bytes),
               target, name);
    });
  }

  /// The same in fewer instructions, of one record behind another.
  [[gnu::always_inline]] void written_next(const DumpTarget& target, std::size_t recorder,
                                           std::uint32_t sequence, std::uint64_t bytes,
                                           const ObjectName& name) {
    if (!put_written(target, recorder, sequence, bytes, name)) [[unlikely]]
      written(target, recorder, sequence, bytes, name);
  }

  /// `status` goes with a single cause.
  void lost(const DumpTarget& target, std::size_t recorder, std::uint32_t sequence, LossCauses causes,
            Status status, const ObjectName& name) {
    begin_again(target, recorder, sequence);
    add_line(target, [&](TextWriter& line) {
      add_causes(add_head(line, kJournalStart<Kind::lost>, recorder, sequence).add(','), causes, status);
      add_path(line, target, name);
    });
  }

  void row(const DumpTarget& target, std::size_t recorder, std::uint32_t sequence, std::uint64_t bytes,
           const ObjectName& name) {
    add_record_line(target, [&](TextWriter& line) {
      add_path(add_head(line, kJournalStart<Kind::row>, recorder, sequence).add(',').add_decimal(bytes),
               target, name);
    });
  }

  void digests(const DumpTarget& target, std::size_t recorder, std::uint32_t first, std::uint32_t last,
               std::uint64_t bytes) {
    add_record_line(target, [&](TextWriter& line) {
      add_head(line, kJournalStart<Kind::digests>, recorder, first)
          .add(',')
          .add_decimal(last)
          .add(',')
          .add_decimal(bytes);
    });
  }

  // Apart from its callers, whose stack it would enlarge.
  [[gnu::noinline]] void reduced(const DumpTarget& target, std::size_t recorder, std::uint32_t sequence,
                                 LossCause cause, std::uint64_t bytes, const ObjectName& name) {
    begin_again(target, recorder, sequence);
    add_line(target, [&](TextWriter& line) {
      add_causes(add_head(line, kJournalStart<Kind::reduced>, recorder, sequence).add(','), bit(cause),
                 Status::ok);
      add_path(line.add(',').add_decimal(bytes), target, name);
    });
  }

  void gap(const DumpTarget& target, std::size_t recorder, std::uint32_t first, std::uint32_t last,
           LossCauses causes) {
    begin_again(target, recorder, first);
    add_line(target, [&](TextWriter& line) {
      add_head(line, kJournalStart<Kind::gap>, recorder, first).add(',').add_decimal(last).add(',');
      add_causes(line, causes, Status::ok);
    });
  }

  void to(const DumpTarget& target, std::size_t recorder, std::uint32_t sequence) {
    begin_again(target, recorder, sequence);
    add_line(target, [&](TextWriter& line) { add_head(line, kJournalStart<Kind::to>, recorder, sequence); });
  }

  /// Tells that of the recorder all before `sequence` is told, where no line names each record.
  void certain(const DumpTarget& target, std::size_t recorder, std::uint32_t sequence) {
    if constexpr (kHere) {
      if (batch_.detail != JournalDetail::gaps) return;
      to(target, recorder, sequence);
      from(target, recorder, sequence);
    }
  }

  /// `op` is an operator of `plan`, whose operators are counted.
  void op(const DumpTarget& target, const ModelPlan& plan, std::size_t op) {
    const OpCounts& counts = plan.op_counts[op];
    const LostSteps lost = lost_steps(counts);
    const OpDesc& desc = plan.model->ops[op];
    if constexpr (kHere) {
      if (!batch_.is_spare) flush();
      batch_.is_spare = true;
    }
    add_line(target, [&](TextWriter& line) {
      line.add(kJournalStart<Kind::op>).add_decimal(plan.steps_seen).add(',').add_decimal(lost.first);
      line.add(',').add_decimal(lost.last);
      for (const auto field : kOpCountFields) line.add(',').add_decimal(counts.*field);
      line.add(',').add_decimal(plan.model->id).add(',').add_sanitised(plan.directory_name);
      line.add('/').add_sanitised(desc.type).add('.').add_sanitised(desc.name);
    });
  }

  /// Texts of more than `kMostNeverTextBytes` are cut.
  void never(const DumpTarget& target, const NeverCaptured& what) {
    add_line(target, [&](TextWriter& line) {
      line.add(kJournalStart<Kind::never>)
          .add(kind_of(what.cause).word)
          .add(',')
          .add_decimal(what.steps.first);
      line.add(',').add_decimal(what.steps.last).add(',').add_decimal(what.model_id).add(',');
      line.add_sanitised(what.model.substr(0, kMostNeverTextBytes)).add('/');
      line.add_sanitised(what.type.substr(0, kMostNeverTextBytes)).add('/');
      add_printable(line, what.name.substr(0, kMostNeverTextBytes));
    });
  }

  void chunk(const DumpTarget& target, std::string_view fault, std::uint32_t chunks, std::uint64_t bytes,
             std::string_view path) {
    add_line(target, [&](TextWriter& line) {
      line.add(kJournalStart<Kind::chunk>).add(fault).add(',').add_decimal(chunks);
      line.add(',').add_decimal(bytes).add(',');
      add_printable(line, path);
    });
  }

  /// `error` has a name, of which `kMostNeverTextBytes` are told.
  void driver(const DumpTarget& target, const DriverError& error) {
    add_line(target, [&error](TextWriter& line) {
      line.add(kJournalStart<Kind::driver>)
          .add_sanitised(std::string_view(error.call).substr(0, kMostNeverTextBytes))
          .add(',');
      const std::uint32_t code = static_cast<std::uint32_t>(error.code);
      if (error.code < 0) line.add('-');
      line.add_decimal(error.code < 0 ? 0 - code : code);
    });
  }

  /// `check(step)` is `ok`. A dump of failures that has no journal yet is told nothing.
  void clock(const DumpTarget& target, const ClockStep& step) {
    if constexpr (kHere) {
      if (!build::kLean && holds_failures(target) && target.journal_id == 0) return;
      add_line(target, [&](TextWriter& line) { add_clock_step(line, step); });
    }
  }

  /// Why lines are missing. Any context.
  void fail(Status cause) {
    if constexpr (kHere) batch_.failure.store(static_cast<std::uint8_t>(cause), std::memory_order_relaxed);
  }

  void closed(const DumpTarget& target, const DumpCounts& counts) {
    if (holds_failures(target) && counts.wanted == 0) return;
    if constexpr (kHere) {
      if (batch_.is_spare) flush();
      if (const Provenance* const told = target.provenance; told != nullptr)
        add_line(target, [told](TextWriter& line) { add_provenance(line, *told); });
    }
    add_line(target, [&](TextWriter& line) {
      line.add(JournalStart<Kind::closed>::kWord);
      for (const auto field : kDumpCountFields) line.add(',').add_decimal(counts.*field);
    });
  }

  /// When the process has crashed, what a history has written. Only triggers give it a journal before.
  void wrote(const DumpTarget& target, const DumpOptions& options, std::uint32_t records,
             std::uint32_t lost) {
    if constexpr (kHere) {
      const auto numbers = [this, &target](std::string_view word, std::uint32_t first, std::uint32_t second) {
        add_line(target,
                 [&](TextWriter& line) { line.add(word).add_decimal(first).add(',').add_decimal(second); });
      };
      if (batch_.detail == JournalDetail::none) {
        batch_.detail = JournalDetail::gaps;
        numbers(kJournalStart<Kind::history>, options.history_steps, options.after_steps);
      }
      numbers(kJournalStart<Kind::wrote>, records, lost);
      flush();
    }
  }

  /// Hands the batch to the sink.
  void flush() {
    if constexpr (kHere) {
      if (batch_.used == 0) return;
      char directory[kMaxDumpDirectoryBytes];
      const char* const directory_end = put_dump_directory(directory, *batch_.target);
      char file[7 + 10 + 1 + kMaxDecimalBytes + 8];
      char* const number =
          put_text(put_short_decimal(put_text(file, "opdump."), batch_.target->device_id), ".");
      const Bytes batch = batch_.memory.first(batch_.used);
      ObjectName name = {.root = batch_.target->root,
                         .directory = {directory, directory_end},
                         .file = file_of(file, number, batch_.target->id),
                         .facts = facts_of(*batch_.target, ObjectKind::journal)};
      if constexpr (!build::kLean) {
        claim(file, number, name);
        name.file = file_of(file, number, batch_.target->journal_id);
      }
      if_here(name.facts, [this](auto& facts) { facts.is_spare = batch_.is_spare; });
      batch_.is_spare = false;
      const Status status = batch_.sink->append_lines(name, {&batch, 1});
      batch_.used = 0;
      if (status != Status::ok) note_refusal(status);
    }
  }

 private:
  /// The name in `file`, of which `number` ends with the journal's.
  static std::string_view file_of(char* file, char* number, std::uint64_t id) {
    return {file, put_text(put_decimal(number, id), ".journal")};
  }

  /// Gives the target's journal a number that no other has.
  [[gnu::noinline]] void claim(char* file, char* number, ObjectName name) {
    constexpr std::uint32_t kMost = 0xffff;
    if (batch_.target->journal_id != 0) return;
    std::uint64_t id = batch_.target->id;
    for (std::uint32_t i = 0; i < kMost; ++i, ++id) {
      name.file = file_of(file, number, id);
      if (batch_.sink->claim_journal(name) != Status::already_exists) break;
    }
    batch_.target->journal_id = id;
  }

  void note_refusal(Status status) {
    fail(status);
    batch_.refused_id = batch_.target_id;
    batch_.target_id = 0;  // so that the head comes again
    batch_.unsure.fill();
  }

  /// In a journal of gaps, what lies between two lines of a recorder counts as written: not where the sink
  /// has refused lines between them.
  void begin_again(const DumpTarget& target, std::size_t recorder, std::uint32_t sequence) {
    if constexpr (kHere) {
      if (batch_.refused_id != target.id || batch_.detail != JournalDetail::gaps) [[likely]]
        return;
      if (!batch_.unsure.has(recorder)) return;
      // So that the beginning and the line come in one batch, of which the sink takes both or neither.
      flush();
      from(target, recorder, sequence);
    }
  }

  static void add_printable(TextWriter& line, std::string_view text) {
    for (const char c : text) line.add(static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? '_' : c);
  }

  static TextWriter& add_head(TextWriter& line, std::string_view start, std::size_t recorder,
                              std::uint32_t sequence) {
    return line.add(start).add_decimal(recorder).add(',').add_decimal(sequence);
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
    if (const std::string_view below = below_dump(target, name); !below.empty()) line.add(below).add('/');
    line.add(name.file);
  }

  /// The directory of `name` below that of the dump.
  static std::string_view below_dump(const DumpTarget& target, const ObjectName& name) {
    const std::size_t above = target.directory_bytes == 0 ? 0 : target.directory_bytes + std::size_t{1};
    if (name.directory.size() <= above) return {};
    std::string_view below = name.directory;
    below.remove_prefix(above);
    return below;
  }

  template <class AddFields>
  void add_line(const DumpTarget& target, const AddFields& add_fields) {
    if constexpr (kHere) {
      if (batch_.detail != JournalDetail::none) put_line(target, fields_of(add_fields));
    }
  }

  /// A line of a record that is not lost.
  template <class AddFields>
  void add_record_line(const DumpTarget& target, const AddFields& add_fields) {
    if constexpr (kHere) {
      if (batch_.detail == JournalDetail::records) add_line(target, add_fields);
    }
  }

  /// Batches the line `written`, if there is to be one, of the journal that the latest line went to; false,
  /// with nothing changed, when it is of another one, or the memory too small for any numbers.
  [[gnu::always_inline]] bool put_written([[maybe_unused]] const DumpTarget& target,
                                          [[maybe_unused]] std::size_t recorder,
                                          [[maybe_unused]] std::uint32_t sequence,
                                          [[maybe_unused]] std::uint64_t bytes,
                                          [[maybe_unused]] const ObjectName& name) {
    if constexpr (kHere && !build::kLean) {
      constexpr std::size_t kMost = WrittenHead::kBytes + 2;
      if (batch_.detail != JournalDetail::records) return true;
      if (batch_.target != &target || batch_.target_id != target.id || bytes > UINT32_MAX) return false;
      const std::size_t most = kMost + name.directory.size() + name.file.size();
      if (most > batch_.memory.size() - batch_.used) [[unlikely]] {
        if (most > batch_.memory.size()) return false;
        flush();
      }
      char* const line = reinterpret_cast<char*>(batch_.memory.data() + batch_.used);
      char* to = batch_.written.put(line, static_cast<std::uint32_t>(recorder), sequence,
                                    static_cast<std::uint32_t>(bytes));
      if (!name.file.empty()) {
        if (const std::string_view below = below_dump(target, name); !below.empty()) {
          to = put_text(to, below);
          *to++ = '/';
        }
        to = put_text(to, name.file);
      }
      *to++ = '\n';
      batch_.used += static_cast<std::size_t>(to - line);
      return true;
    }
    return !kHere;
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
    const bool is_new = target.id > batch_.target_id;
    if (batch_.target != &target || batch_.target_id != target.id) {
      flush();
      batch_.target = &target;
      batch_.target_id = target.id;
      const bool records = batch_.detail == JournalDetail::records;
      put(fields_of(
          [records](TextWriter& line) { line.add(kJournalHead).add(records ? "records" : "gaps"); }));
      if (const Provenance* const told = target.provenance; told != nullptr)
        put(fields_of([told](TextWriter& line) { add_provenance(line, *told); }));
    }
    put(fields);
    // A dump has its journal from the first record on: a quota removes only what a journal can tell of.
    if (is_new) flush();
  }

  void put(const Fields& fields) {
    for (const bool again : {false, true}) {
      const MutableBytes room = batch_.memory.subspan(batch_.used);
      TextWriter line({reinterpret_cast<char*>(room.data()), room.size()});
      fields.add(line, fields.fields);
      line.add('\n');
      if (!line.overflowed()) {
        batch_.used += line.text().size();
        return;
      }
      if (again) fail(Status::no_memory);
      flush();
    }
  }

  struct Batch {
    Batch(Sink& to, MutableBytes room, JournalDetail told) : sink(&to), memory(room), detail(told) {}

    Sink* sink;
    MutableBytes memory;
    std::size_t used = 0;
    const DumpTarget* target = nullptr;
    std::uint64_t target_id = 0;
    std::uint64_t refused_id = 0;  ///< of the latest target of which the sink refused lines; 0: none
    bool is_spare = false;         ///< nothing but lines `op` is batched
    RecorderSet unsure{};          ///< recorders that have had no line since then
    [[no_unique_address]] Maybe<!build::kLean, WrittenHead> written{};
    JournalDetail detail;
    std::atomic<std::uint8_t> failure{0};
  };

  [[no_unique_address]] Maybe<kHere, Batch> batch_;
};

/// Bytes of the longest line with a path of these texts.
constexpr std::size_t journal_line_bytes(std::size_t name_bytes) {
  return name_bytes + 176;
}
static_assert(kMostProvenanceLine <= journal_line_bytes(0));

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump
