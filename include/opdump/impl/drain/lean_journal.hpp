#pragma once
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string_view>
#include <type_traits>

#include "opdump/base/build.hpp"
#include "opdump/base/text.hpp"
#include "opdump/format/journal_lines.hpp"
#include "opdump/impl/drain/dump_name.hpp"
#include "opdump/impl/drain/journal.hpp"
#include "opdump/impl/record/targets.hpp"
#include "opdump/port/sink.hpp"
#include "opdump/types/account.hpp"
#include "opdump/types/clock_step.hpp"
#include "opdump/types/config.hpp"
#include "opdump/types/counts.hpp"

namespace opdump {
inline namespace OPDUMP_NAMESPACE {

/// `unfinished` and the words of `kLossKinds`, each followed by a 0.
inline constexpr auto kCauseWords = [] {
  constexpr std::size_t kBytes = [] {
    std::size_t bytes = kUnfinishedWord.size() + 1;
    for (const LossKind& kind : kLossKinds) bytes += kind.word.size() + 1;
    return bytes;
  }();
  std::array<char, kBytes> words{};
  char* to = words.data();
  for (const char c : kUnfinishedWord) *to++ = c;
  for (const LossKind& kind : kLossKinds) {
    ++to;
    for (const char c : kind.word) *to++ = c;
  }
  return words;
}();

/// The journal of a lean build, in BasicJournal's format. Its lines name no record, so it is a journal of
/// gaps for every detail but `none`. Its lines are `from`, `gap` (also for a single record), `to` and
/// `closed`. Each follows a copy of the format's head, so that the remaining lines can be read when a log has
/// overwritten its oldest blocks, but for those of `certain`. Only the counts of `closed` include reduced
/// records, and records lost after a recorder's last record or before its first one under a config. Each line
/// goes to the sink at once. If the sink refuses a line, only the line is lost, not the records.
class LeanJournal {
 public:
  /// `memory` holds the line being written and the journal's name; with fewer than `kMemoryBytes` every line fails.
  LeanJournal(Sink& sink, MutableBytes memory, JournalDetail detail)
      : sink_(&sink),
        memory_(memory.size() < kMemoryBytes ? nullptr : reinterpret_cast<char*>(memory.data())),
        detail_(detail) {}

  /// While no target has a journal.
  void write_to(Sink& sink) { sink_ = &sink; }

  void begin(JournalDetail detail) {
    detail_ = detail;
    fail(Status::ok);
  }

  /// As BasicJournal's.
  Status failure() const { return static_cast<Status>(failure_.load(std::memory_order_relaxed)); }
  void fail(Status cause) { failure_.store(static_cast<std::uint8_t>(cause), std::memory_order_relaxed); }

  void from(const DumpTarget& target, std::size_t recorder, std::uint32_t sequence) {
    send(target, line_of(kFrom, recorder, sequence));
  }

  void to(const DumpTarget& target, std::size_t recorder, std::uint32_t sequence) {
    send(target, line_of(kTo, recorder, sequence));
  }

  /// As BasicJournal's, in one piece without a head, which takes less of a log. None once the sink has refused
  /// a line, which may have told of a loss.
  OPDUMP_APART void certain(const DumpTarget& target, std::size_t recorder, std::uint32_t sequence) {
    if (detail_ == JournalDetail::none || failure() != Status::ok) return;
    char* const end = put_line(memory_ + kNameBytes, kTo, recorder, sequence);
    *end = '\n';
    send(target, put_line(end + 1, kFrom, recorder, sequence));
  }

  OPDUMP_INLINE_IF_LEAN void gap(const DumpTarget& target, std::size_t recorder, std::uint32_t first,
                                 std::uint32_t last, LossCauses causes) {
    send(target, gap_of(recorder, first, last, causes));
  }

  void lost(const DumpTarget& target, std::size_t recorder, std::uint32_t sequence, LossCauses causes, Status,
            const Absent<ObjectName>&) {
    gap(target, recorder, sequence, sequence, causes);
  }

  void closed(const DumpTarget& target, const DumpCounts& counts) {
    char* at = line_of(kClosed, count_at(counts, 0), count_at(counts, 1));
    for (std::size_t i = 2; i < kDumpCounts && at != nullptr; ++i) at = put_number(at, count_at(counts, i));
    send(target, at);
  }

  /// `check(provenance)` is `ok`. Costs nothing where nobody calls it.
  void provenance(const DumpTarget& target, const Provenance& provenance) {
    tell(target, [&](TextWriter& to) { add_provenance(to, provenance); });
  }

  /// Likewise.
  void clock(const DumpTarget& target, const ClockStep& step) {
    tell(target, [&](TextWriter& to) { add_clock_step(to, step); });
  }

  // Events that have no line here.

  template <class... Told>
  static void begun(const Told&...) {}
  template <class... Told>
  static void written(const Told&...) {}
  template <class... Told>
  static void reduced(const Told&...) {}
  template <class... Told>
  static void op(const Told&...) {}
  template <class... Told>
  static void never(const Told&...) {}
  template <class... Told>
  static void driver(const Told&...) {}
  static void flush() {}

 private:
  static_assert(kLossCauses < 8);
  static constexpr char kFrom[] = "from", kTo[] = "to", kGap[] = "gap", kClosed[] = "closed";
  static_assert(kFrom == journal_word(JournalLineKind::from) && kTo == journal_word(JournalLineKind::to) &&
                kGap == journal_word(JournalLineKind::gap) &&
                kClosed == journal_word(JournalLineKind::closed));
  static constexpr std::string_view kSuffix = ".journal";
  static constexpr std::string_view kHead = "opdump-journal,1,gaps\n";
  static_assert(kHead.starts_with(kJournalHead));
  static constexpr std::size_t kNameBytes =
      kMaxDumpDirectoryBytes + 7 + 10 + 1 + kMaxDecimalBytes + kSuffix.size();
  static constexpr std::size_t kLineBytes = kHead.size() + kMostProvenanceLine;
  static constexpr std::size_t kMemoryBytes = kNameBytes + kLineBytes;
  static_assert(kLineBytes >= kHead.size() + sizeof kClosed + 11 * kDumpCounts);
  static_assert(sizeof kClosed + 11 * kDumpCounts >= sizeof kGap + 3 * 11 + kCauseWords.size());
  static_assert(kMemoryBytes <= journal_line_bytes(dump_name_bytes(0, 0, 0)));

  /// Sends the line that `add` adds.
  template <class Add>
  void tell(const DumpTarget& target, Add add) {
    if (detail_ == JournalDetail::none) return;
    if (memory_ == nullptr) return fail(Status::no_memory);
    TextWriter line({memory_ + kNameBytes, kLineBytes});
    add(line.add(kHead));
    send(target, memory_ + kNameBytes + line.text().size());
  }

  // A line is made by calls that have returned when it is sent, so that their stack is free while the sink writes.

  /// A line that begins so, and where it goes on; null: there is to be none.
  OPDUMP_APART char* line_of(const char* word, std::size_t number, std::uint32_t next) {
    if (detail_ == JournalDetail::none) return nullptr;
    if (memory_ == nullptr) {
      fail(Status::no_memory);
      return nullptr;
    }
    return put_line(put_text(memory_ + kNameBytes, kHead), word, number, next);
  }

  OPDUMP_APART static char* put_line(char* to, const char* word, std::size_t number, std::uint32_t next) {
    while (*word != 0) *to++ = *word++;
    return put_number(put_number(to, static_cast<std::uint32_t>(number)), next);
  }

  /// The line of a gap, likewise.
  OPDUMP_APART char* gap_of(std::size_t recorder, std::uint32_t first, std::uint32_t last,
                            LossCauses causes) {
    char* const at = line_of(kGap, recorder, first);
    return at == nullptr ? nullptr : put_causes(put_number(at, last), causes);
  }

  OPDUMP_APART static char* put_number(char* to, std::uint32_t number) {
    *to++ = ',';
    return put_short_decimal(to, number);
  }

  static char* put_causes(char* to, unsigned causes) {
    // No cause is written as the first word.
    unsigned bits = causes == 0 ? 1 : causes << 1;
    *to++ = ',';
    for (const char* word = kCauseWords.data(); bits != 0; bits >>= 1) {
      for (; *word != 0; ++word) {
        if ((bits & 1) != 0) *to++ = *word;
      }
      ++word;
      if ((bits & 1) != 0 && bits != 1) *to++ = '+';
    }
    return to;
  }

  /// Sends the line that goes up to `end`; null: there is none.
  OPDUMP_APART void send(const DumpTarget& target, char* end) {
    if (end == nullptr) return;
    *end++ = '\n';
    char* const file = put_dump_directory(memory_, target);
    char* at = put_short_decimal(put_text(file, "opdump."), target.device_id);
    *at++ = '.';
    at = put_text(put_decimal(at, target.id), kSuffix);
    const ObjectName name = {.root = target.root, .directory = {memory_, file}, .file = {file, at}};
    const Bytes line = as_bytes({memory_ + kNameBytes, end});
    const Status status = sink_->append_lines(name, {&line, 1});
    if (status != Status::ok) fail(status);
  }

  Sink* sink_;
  char* const memory_;
  JournalDetail detail_;
  std::atomic<std::uint8_t> failure_{0};
};

/// The journal of this build.
using Journal = std::conditional_t<build::kLeanJournal, LeanJournal, BasicJournal<build::kFullJournal>>;

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump
