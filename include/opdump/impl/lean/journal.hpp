#pragma once
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string_view>
#include <type_traits>

#include "opdump/base/text.hpp"
#include "opdump/base/build.hpp"
#include "opdump/impl/drain/dump_name.hpp"
#include "opdump/impl/drain/journal.hpp"
#include "opdump/impl/record/targets.hpp"
#include "opdump/port/sink.hpp"
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
/// overwritten its oldest blocks. Only the counts of `closed` include reduced records, and records lost after
/// a recorder's last record or before its first one under a config. Each line goes to the sink at once. If
/// the sink refuses a line, only the line is lost, not the records.
class LeanJournal {
 public:
  /// `memory` holds the line being written and the journal's name; with fewer than `kMemoryBytes` every line
  /// fails.
  LeanJournal(Sink& sink, MutableBytes memory, JournalDetail detail)
      : sink_(sink),
        memory_(memory.size() < kMemoryBytes ? nullptr : reinterpret_cast<char*>(memory.data())),
        detail_(detail) {}

  void begin(JournalDetail detail) {
    detail_ = detail;
    fail(Status::ok);
  }

  /// As BasicJournal's.
  Status failure() const { return static_cast<Status>(failure_.load(std::memory_order_relaxed)); }
  void fail(Status cause) { failure_.store(static_cast<std::uint8_t>(cause), std::memory_order_relaxed); }

  void from(const DumpTarget& target, std::size_t recorder, std::uint32_t sequence) {
    put(target, kFrom, recorder, sequence);
  }

  void to(const DumpTarget& target, std::size_t recorder, std::uint32_t sequence) {
    put(target, kTo, recorder, sequence);
  }

  void gap(const DumpTarget& target, std::size_t recorder, std::uint32_t first, std::uint32_t last,
           LossCauses causes) {
    const std::uint32_t numbers[] = {static_cast<std::uint32_t>(recorder), first, last};
    put_line(target, kGap, numbers, 3, causes);
  }

  void lost(const DumpTarget& target, std::size_t recorder, std::uint32_t sequence, LossCauses causes, Status,
            const Absent<ObjectName>&) {
    gap(target, recorder, sequence, sequence, causes);
  }

  void closed(const DumpTarget& target, const DumpCounts& counts) {
    std::uint32_t numbers[kCounts];
    for (std::size_t i = 0; i < kCounts; ++i) numbers[i] = counts.*kDumpCountFields[i];
    put_line(target, kClosed, numbers, kCounts, kNoCauses);
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
  static void flush() {}

 private:
  static constexpr std::size_t kCounts = std::size(kDumpCountFields);
  static constexpr LossCauses kNoCauses = 0x80;
  static_assert(kLossCauses < 8);
  static constexpr char kFrom[] = "from", kTo[] = "to", kGap[] = "gap", kClosed[] = "closed";
  static constexpr std::string_view kSuffix = ".journal";
  static constexpr std::string_view kSuffixAndHead = ".journalopdump-journal,1,gaps\n";
  static constexpr std::size_t kMemoryBytes = kMaxDumpDirectoryBytes + 7 + 10 + 1 + kMaxDecimalBytes +
                                              kSuffixAndHead.size() + sizeof kClosed + 11 * kCounts;
  static_assert(sizeof kClosed + 11 * kCounts >= sizeof kGap + 3 * 11 + kCauseWords.size());

  OPDUMP_APART void put(const DumpTarget& target, const char* word, std::size_t recorder,
                        std::uint32_t sequence) {
    const std::uint32_t numbers[] = {static_cast<std::uint32_t>(recorder), sequence};
    put_line(target, word, numbers, 2, kNoCauses);
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

  OPDUMP_APART void put_line(const DumpTarget& target, const char* word, const std::uint32_t* number,
                             std::size_t count, LossCauses causes) {
    if (detail_ == JournalDetail::none) return;
    if (memory_ == nullptr) return fail(Status::no_memory);
    char* const file = put_dump_directory(memory_, target);
    char* at = put_short_decimal(put_text(file, "opdump."), target.device_id);
    *at++ = '.';
    at = put_decimal(at, target.id);
    char* const line = at + kSuffix.size();
    at = put_text(at, kSuffixAndHead);
    while (*word != 0) *at++ = *word++;
    for (; count != 0; --count) {
      *at++ = ',';
      at = put_short_decimal(at, *number++);
    }
    if (causes != kNoCauses) at = put_causes(at, causes);
    *at++ = '\n';
    const Bytes text = as_bytes({line, at});
    const ObjectName name = {.root = target.root, .directory = {memory_, file}, .file = {file, line}};
    const Status status = sink_.append_lines(name, {&text, 1});
    if (status != Status::ok) fail(status);
  }

  Sink& sink_;
  char* const memory_;
  JournalDetail detail_;
  std::atomic<std::uint8_t> failure_{0};
};

/// The journal of this build.
using Journal = std::conditional_t<build::kLeanJournal, LeanJournal, BasicJournal<build::kFullJournal>>;

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump
