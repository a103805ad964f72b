#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "opdump/format/journal_lines.hpp"
#include "opdump/types/account.hpp"
#include "opdump/types/chunk_fault.hpp"
#include "opdump/types/clock_step.hpp"
#include "opdump/types/counts.hpp"
#include "opdump/types/plan.hpp"
#include "opdump/types/trigger.hpp"
#include "src/tool/read/dump/record_name.hpp"

namespace opdump::tool {

/// What the name of a journal, `opdump.{device}.{id}.journal`, tells.
struct JournalName {
  std::uint64_t device = 0;
  std::uint64_t id = 0;  ///< microseconds of the moment the dump began
};

/// False when `name` is none.
bool parse_journal_name(std::string_view name, JournalName& journal);

/// Path of a record's file as a journal gives it: `{device}/{model}/{model id}/{step}/{file}`, or
/// `{device}/{file}` outside a model; in MindSpore's layouts `{network}/{model id}/{step}/{file}`, `{file}`
/// or `{step}/{time}/` and one of CANN's, of MindSpore Lite `{network}/{step}/{file}`; of an operator that
/// failed `{device}/{file}`. Refers to the text it was made of.
struct JournalPath {
  bool has_device = false;
  std::uint64_t device = 0;
  bool in_model = false;
  std::string_view model;
  std::uint64_t model_id = 0;
  std::uint64_t step = 0;
  std::string_view op;       ///< `{type}.{name}`; of MindSpore Lite `{name}`, with . for each /
  std::string_view untimed;  ///< the path without its time stamp
  std::string_view record;   ///< `untimed` without the folders of a whole graph, of which one is a time
  bool timed = false;        ///< a file may have the path, which of MindSpore Lite's has no time
  bool lite = false;         ///< MindSpore Lite's
  std::string_view suffix;   ///< behind the time stamp, such as ".csv"; empty: CANN's records
};

/// Whether a file with that behind its time stamp holds one of CANN's records.
bool is_record_suffix(std::string_view suffix);

/// Strict: such paths as the core writes, and so none that leaves its directory.
bool parse_journal_path(std::string_view text, JournalPath& path);

/// The device in the path of a file that lies where a record's would; nothing where MindSpore's layouts have
/// none there.
std::optional<std::uint64_t> device_in(std::string_view path);

/// For people: the causes that a journal gives in its words.
std::string causes_text(std::string_view words);

/// The same for counts: how many for each.
std::string causes_text(const LossCounts& counts);

/// A firing of a trigger. Refers to the journal's text.
struct ToldFiring {
  std::uint32_t trigger = 0;
  TriggerCause cause{};
  std::uint64_t step = 0;
  std::string_view value;  ///< empty: not told
  std::string_view limit;  ///< such as "<0.5"; empty: there is none
  std::uint32_t model_id = 0;
  std::string_view where;  ///< `{model}/{type}.{name}`, a model, or the name of a call
};

/// Records of which a journal tells no more than how many there were.
struct ForgottenRecords {
  std::uint32_t written = 0;  ///< in a journal of records: and gone
  std::uint32_t reduced = 0;  ///< of `written`
  LossCounts lost{};
  std::uint32_t unclear = 0;  ///< lost, for several causes or for one that nothing tells

  std::uint32_t all_lost() const { return lost.lost() + unclear; }
};

/// One line of a journal, as format/journal_lines.hpp has them; what it does not tell is 0 or empty. Refers to
/// the text it was made of.
struct JournalLine {
  using Kind = JournalLineKind;

  Kind kind = Kind::header;
  bool records = false;  ///< the header's detail
  std::uint32_t recorder = 0;
  std::uint32_t sequence = 0;
  std::uint32_t last = 0;  ///< of a gap, or of records with digests
  std::uint64_t bytes = 0;
  std::uint64_t first_time = 0;
  std::uint64_t last_time = 0;
  std::uint64_t first_frame = 0;
  std::uint64_t last_frame = 0;
  std::string_view causes;
  std::string_view path_text;  ///< may be empty
  JournalPath path;            ///< when `path_text` is not empty
  DumpCounts counts{};
  std::uint64_t steps_seen = 0;
  LostSteps lost_steps{};
  OpCounts op_counts{};
  NeverCaptured never{};
  ChunkFault fault{};
  std::uint32_t chunks = 0;
  std::string_view driver_call;
  std::int32_t driver_code = 0;
  Provenance provenance{};
  ClockStep clock{};
  std::uint32_t history_steps = 0;
  std::uint32_t after_steps = 0;
  ToldFiring firing{};
  FiringCounts firing_counts{};
  ForgottenRecords forgotten{};
};

/// On false `reason` says what is wrong with the line.
bool parse_journal_line(std::string_view text, JournalLine& line, std::string& reason);

}  // namespace opdump::tool
