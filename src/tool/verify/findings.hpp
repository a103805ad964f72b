#pragma once
#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "src/tool/cli/json.hpp"
#include "src/tool/cli/options.hpp"
#include "src/tool/read/journal/journal_line.hpp"

namespace opdump::tool {

/// What `verify` may find, most important first.
enum class FindingKind : std::uint8_t {
  missing,      ///< a file that a journal names is not there
  bad_file,     ///< it is there, and is not what was written
  lost,         ///< a record was lost, and its operator is known
  reduced,      ///< only a reduced form of a record was kept
  gap,          ///< records were lost, and only their numbers are known
  by_op,        ///< what the session counted of an operator with losses; they are told besides
  driver,       ///< the latest call of the device's driver that failed; a loss is told besides
  removed,      ///< a record was written, and removed to make room
  overwritten,  ///< a flash log has gone round and taken the oldest records
  never,        ///< the config asked for it, and the session says that it was never captured
  no_such,      ///< the config asks for it, and neither RUN.json nor a card of the dump's models has it
  absent,       ///< the config wants it, and nothing tells of it
  chunk,        ///< a chunk that a runtime handed over was faulty
  journal,      ///< the journal is damaged, or contradicts itself
  not_final,    ///< the journal does not end in `closed`
  none,         ///< there is no journal
  sealed,       ///< the journal is sealed
  unlisted,     ///< a file that no journal names
  part,         ///< a file that was never finished
  unsynced,     ///< what was written could not be made durable
  unreceived,   ///< frames of a wire never arrived
  damage,       ///< bytes of a flash image are lost
  some_steps,   ///< an operator that was captured at some of its model's steps only, as conditional ones are
  provenance,   ///< what the dump comes from
  clock,        ///< the clock was set while it was dumped
  rotated,      ///< older dumps were removed to make room
  fired,        ///< a trigger has fired
  trigger,      ///< what became of the firings of one
  kCount,
};

/// One fact beside a finding's text, for programs. Numbers are written as such.
struct FindingField {
  std::string_view name;
  std::string text{};
  std::uint64_t number = 0;
  bool is_number = false;
};

/// Findings of one kind, for people.
struct FindingGroup {
  std::string_view heading;
  std::vector<std::vector<std::string>> rows{};  ///< the first ones
  std::uint64_t lines = 0;                       ///< all of them
  std::uint64_t findings = 0;
};

/// Gathers findings for people, the first of each kind and the count of the rest, or prints every one at once as JSON.
class Findings {
 public:
  /// Null `json`: for people. Otherwise the findings are the first member of an object that `json` writes,
  /// and each is on stdout once it is added.
  explicit Findings(JsonWriter* json);

  /// `wrong`: it stands against the dump being complete. `row` is the finding in cells of a table.
  void add(FindingKind kind, bool wrong, std::vector<std::string> row,
           const std::vector<FindingField>& fields);

  /// The same, for findings that people see summed up: only counted for them.
  void add_summed(FindingKind kind, const std::vector<FindingField>& fields, std::uint64_t count);

  /// The same, for what was asked for and never captured: nothing of what was captured is missing.
  void add_never(std::vector<std::string> row, const std::vector<FindingField>& fields,
                 FindingKind kind = FindingKind::never);

  /// The same, for what is worth knowing and stands against nothing.
  void add_note(FindingKind kind, std::vector<std::string> row, const std::vector<FindingField>& fields);

  /// The same as `add_summed`, for what newer records took: of the rest nothing is missing.
  void add_overwritten(const std::vector<FindingField>& fields, std::uint64_t count);

  /// A line that sums up findings told with `add_summed`.
  void add_row(FindingKind kind, std::vector<std::string> row);

  /// In one sentence, without a full stop.
  std::string_view verdict() const;

  /// What people see of each kind that there is, most important first.
  std::vector<FindingGroup> groups() const;

  bool complete() const { return complete_ && !overwritten_; }
  bool has_never() const { return never_ != 0; }

  /// For people: the verdict and the findings. For programs: the end of the list.
  void print();

 private:
  static constexpr std::size_t kMostRows = 50;

  void print_json(FindingKind kind, bool wrong, const std::vector<FindingField>& fields);

  JsonWriter* const json_;
  bool any_ = false;
  bool complete_ = true;  ///< but for what was overwritten
  bool overwritten_ = false;
  std::uint64_t never_ = 0;
  std::array<FindingGroup, static_cast<std::size_t>(FindingKind::kCount)> groups_;
};

/// Records that were lost, reduced or removed, summed up by operator, recorder and cause. Remembers each such
/// group once, with ranges of steps.
class LossGroups {
 public:
  /// A record of which `journal` tells; `path` is null when nothing says which operator's it was.
  void add(FindingKind kind, const std::string& journal, std::uint32_t recorder, std::uint32_t sequence,
           std::string_view causes, const JournalPath* path, Findings& findings);

  /// Adds a line for each group, for people.
  void tell(Findings& findings);

 private:
  struct Group {
    std::uint64_t count = 0;
    std::uint32_t first = 0;
    std::uint32_t last = 0;
    StepRanges steps;
    bool in_model = false;
  };

  /// By kind, model, operator, recorder and causes.
  std::map<std::tuple<FindingKind, std::string, std::string, std::uint32_t, std::string>, Group> groups_;
};

}  // namespace opdump::tool
