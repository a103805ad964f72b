#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string_view>

#include "opdump/knobs.hpp"

namespace opdump {
inline namespace OPDUMP_NAMESPACE {

/// Lines of a journal, in the order of `kJournalLines`, whose words they are but for the header's.
enum class JournalLineKind : std::uint8_t {
  header,
  provenance,
  from,
  begun,
  written,
  row,
  digests,
  lost,
  reduced,
  gap,
  to,
  op,
  never,
  chunk,
  driver,
  clock,
  history,
  fired,
  trigger,
  wrote,
  closed,
  removed,
  forgotten,
  files_removed,
  firings_forgotten,
  dumps_removed,
  overwritten,
  unsynced,
  unreceived,
};

/// The lines of a journal, `opdump.{device}.{id}.journal` in the dump's directory (`add_dump_directory`), such as
/// `{time}`: what begins each, and its fields. Text, a line per event, with commas between. Those who write lines take
/// the words from here (`kJournalStart`), `opdump verify` also the fields. The last field of a line may hold commas.
///
/// R is a recorder, S a sequence number of its records. PATH is the path of a record's file below the dump's
/// directory. CAUSES are words of `kLossKinds`, joined by `+` where a recorder that had no room to tell has lost for
/// several, or `unfinished` where it has not come to tell; a `:` and a status in words follow where the cause has
/// several. COUNTS are the DumpCounts, in the order of `DumpCount`, of this journal's records since its last
/// `closed`, also of those that got no line.
///
/// What a recorder lost without a trace from a config whose journal is closed by then is in that one's COUNTS only.
/// From several configs at once, it is told as a gap in the journal of the next record.
inline constexpr std::string_view kJournalLines[] = {
    // Format version, detail; again when the session writes on. Readers refuse another version, and what is no line
    // of this one.
    "opdump-journal,1,DETAIL",
    // What the dump comes from, as a Provenance has it, of which any may be empty: behind the head, and again before
    // `closed`.
    "provenance,BUILD,CONFIG,OPDUMP,MODEL,RUNTIME",
    // R's lines start with S; in a journal of gaps they start again without an end behind lines that the sink
    // refused: of the records before S some may be lost, as COUNTS then tell.
    "from,R,S",
    // Record S is larger than one chunk and has begun.
    "begun,R,S,PATH",
    // Record S is committed; PATH is empty after `begun`.
    "written,R,S,BYTES,PATH",
    // What a Reduction made of record S is in `statistic.csv` beside PATH, as BYTES bytes of it; PATH is what a file
    // of the record would have.
    "row,R,S,BYTES,PATH",
    // Records S to T are committed as BYTES bytes of the file of digests that has this journal's name but for its
    // end (digest_table.hpp).
    "digests,R,S,T,BYTES",
    // Record S is lost; PATH with or without time, or empty.
    "lost,R,S,CAUSES,PATH",
    // The same instead of the tensors, committed as PATH, or as such a row when it has no suffix.
    "reduced,R,S,CAUSES,BYTES,PATH",
    // Records S to T are lost, nothing else is known of them.
    "gap,R,S,T,CAUSES",
    // R's lines end before S: up to there all is told. A journal of gaps has it also where they go on, so that a loss
    // of power leaves less in doubt; a line `from` of the same R and S follows at once.
    "to,R,S",
    // All that was counted of an operator that lost or reduced records, in the SEEN steps of model ID: losses from
    // step FIRST to LAST, and the OpCounts in the order of `kOpCountFields`. OP is `{model}/{type}.{name}`.
    "op,SEEN,FIRST,LAST,OP_COUNTS,ID,OP",
    // Something that the config asks for was never captured: a model, an operator, its inputs or outputs, steps FIRST
    // to LAST (else 0), or in such steps a look at what is watched, A_To_C, as the words of `kNeverKinds` have it. It
    // holds for one loading of the model: when another one captured it, that one's records tell. Not told is "_", 0
    // or empty. NAMES are `{model}/{type}/{name}`, the name as in the config or the model but for control characters.
    "never,NEVER,FIRST,LAST,ID,NAMES",
    // Of the chunks that another runtime brings, CHUNKS with BYTES bytes for FILE have the FAULT, a word of
    // `kChunkFaultKinds`. FILE may begin with "../" or be empty, and has no control characters.
    "chunk,FAULT,CHUNKS,BYTES,FILE",
    // The latest call of the device's driver that failed, and what it returned, where the memory tells
    // (ExplainingMemory): before `closed`, whether or not a record was lost for it.
    "driver,CALL,CODE",
    // The clock came to know the calendar, as a ClockStep has it: when it showed SHOWN it was TIME, which it has
    // shown since. Each time below TIME, in names and in lines, is TIME - SHOWN too early; of several steps the
    // first one moves a time before the next one does. The same step may be told again; `opdump extract` tells it
    // to all journals of its boot.
    "clock,SHOWN,TIME",
    // The records lie in a history of STEPS steps, which writes them when a trigger fires, with the AFTER steps
    // behind it: no line names a record, and records that are counted as written may have been let go.
    "history,STEPS,AFTER",
    // Trigger number I of the config has fired in STEP, and the history was written. TRIGGER is a word of
    // `kTriggerWords`, LIMIT begins with < or >; of a digest VALUE is hexadecimal. What the cause has not, and what
    // the config's privacy keeps back, is empty. WHERE is `{model}/{type}.{name}`, a model, or the name of a call.
    "fired,I,TRIGGER,STEP,VALUE,LIMIT,ID,WHERE",
    // How often it has fired so far, was held back by its cooldown, by the limits of firings or bytes, or as the
    // drainer was behind; how many write-outs the limit of bytes has ended, and of how many LOOKS the tensor could
    // not be read. The last one counts.
    "trigger,I,TRIGGER,FIRED,COOLDOWN,FIRINGS,HELD_BYTES,CROWDED,CUT,UNREAD,LOOKS",
    // So many records are in the dump, and the sink refused REFUSED of what was kept; before `closed`.
    "wrote,RECORDS,REFUSED",
    // After the last of these nothing was captured.
    "closed,COUNTS",
    // A sink removed that file to make room, whatever is told of its record.
    "removed,FILE",
    // With `"keep": "newest"` a sink has shortened the journal, or it counts losses, as on a full disk, where the
    // journal's room ran short: in the place of the lines of records S to T. WRITTEN of them were written, of which
    // REDUCED in a reduced form, and in a journal of records the files of all these were gone by then, as they are
    // when they were removed to make room; whether any is missing for another reason is no longer provable. The
    // others are lost: LOSSES, in the order of `kLossKinds`, and UNCLEAR with several causes or `unfinished`.
    "forgotten,R,S,T,WRITTEN,REDUCED,LOSSES,UNCLEAR",
    // Likewise, in the place of N lines `removed`, or `chunk` of a file that is gone.
    "files_removed,N",
    // Likewise, in the place of FIRED lines `fired` of trigger number I.
    "firings_forgotten,I,TRIGGER,FIRED",
    // A sink removed N dumps from OLDEST to NEWEST, whose directories are older.
    "dumps_removed,N,OLDEST,NEWEST",
    // `opdump extract` found that a flash log has gone round and taken the dump's beginning, and perhaps lines here.
    "overwritten",
    // A sink could not make durable what it had written by then; CODE is the system's errno.
    "unsynced,CODE",
    // `opdump receive` never got those frames of the wire; what they held comes before this line, or before the end
    // where it is the last.
    "unreceived,FIRST_FRAME,LAST_FRAME",
};
static_assert(std::size(kJournalLines) == static_cast<std::size_t>(JournalLineKind::unreceived) + 1);

/// What each of them begins with, up to the first comma.
inline constexpr auto kJournalLineWords = [] {
  std::array<std::string_view, std::size(kJournalLines)> words{};
  for (std::size_t i = 0; i < words.size(); ++i)
    words[i] = kJournalLines[i].substr(0, kJournalLines[i].find(','));
  return words;
}();

constexpr std::string_view journal_word(JournalLineKind kind) {
  return kJournalLineWords[static_cast<std::size_t>(kind)];
}

/// What `line` is by its word; nothing where no line begins so.
constexpr std::optional<JournalLineKind> journal_kind(std::string_view line) {
  const std::string_view word = line.substr(0, line.find(','));
  for (std::size_t i = 0; i < kJournalLineWords.size(); ++i) {
    if (kJournalLineWords[i] == word) return static_cast<JournalLineKind>(i);
  }
  return {};
}

/// What a journal begins with; its detail follows.
inline constexpr std::string_view kJournalHead = "opdump-journal,1,";
static_assert(kJournalLines[0].starts_with(kJournalHead));

/// What a writer begins a line with: its word and a comma. In memory of its own, without the names of the fields.
template <JournalLineKind kKind>
class JournalStart {
  static constexpr auto kChars = [] {
    constexpr std::string_view kWord = journal_word(kKind);
    std::array<char, kWord.size() + 1> chars{};
    for (std::size_t i = 0; i < kWord.size(); ++i) chars[i] = kWord[i];
    chars[kWord.size()] = ',';
    return chars;
  }();

 public:
  static constexpr std::string_view kText{kChars.data(), kChars.size()};
  static constexpr std::string_view kWord = kText.substr(0, kText.size() - 1);
};
template <JournalLineKind kKind>
inline constexpr std::string_view kJournalStart = JournalStart<kKind>::kText;

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump
