#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "src/tool/cli/progress.hpp"
#include "src/tool/read/dump/found_files.hpp"
#include "src/tool/read/dump/record_file.hpp"
#include "src/tool/read/journal/journal_line.hpp"
#include "src/tool/read/journal/journal_reader.hpp"
#include "src/tool/verify/file_soundness.hpp"
#include "src/tool/verify/findings.hpp"
#include "src/tool/verify/journal_check.hpp"
#include "src/tool/verify/journal_findings.hpp"
#include "src/tool/verify/journaled_dumps.hpp"
#include "src/tool/verify/never_lines.hpp"
#include "src/tool/verify/op_steps.hpp"
#include "src/tool/verify/trigger_accounts.hpp"
#include "src/tool/verify/wanted_records.hpp"

namespace opdump::tool {

/// Where the files of a dump are whose real names their file system did not take. Keeps what the latest
/// `mapping.csv` files say.
class MappedNames {
 public:
  /// Where the file is whose path a journal tells: `full`, or the name that `mapping.csv` beside it has for it.
  std::string find(const std::string& full);

 private:
  using ByRealName = std::unordered_map<std::string, std::string>;

  const ByRealName& in(const std::string& directory);

  std::map<std::string, ByRealName> mappings_;  ///< by directory
};

/// Rows of a table of statistics, behind its header.
struct TableRows {
  std::uint64_t bytes = 0;
  std::uint64_t count = 0;
};

/// Nothing when the table cannot be read.
TableRows rows_of(const std::string& path);

/// Calls `use(path)` for each row of the table in `file`, which lies at `path` in the dump, with the path
/// that a file of its tensor would have. Leaves out what is no row.
void for_each_row(const std::string& file, std::string_view path,
                  const std::function<void(const std::string& row_path)>& use);

/// Whether the file at that path of a dump is such a table.
bool is_table(std::string_view path);

/// What one journal came to.
struct JournalSummary {
  std::string path;
  JournalName name;
  bool records = true;
  bool closed = false;
  std::uint64_t written = 0;
  std::uint64_t lost = 0;
};

/// What the check of all dumps shares.
struct VerifyContext {
  Findings& findings;
  Progress& progress;
  BesideCards& cards;
  WantedRecords* wanted = nullptr;  ///< null: not asked for
  bool wants_cards = false;         ///< the models of `wanted` are those of each dump's cards
  bool is_of_wanted = false;        ///< a journal is of a device of which `wanted` wants something
  bool quick = false;               ///< files are not opened
  RecordFile file{};
  std::vector<JournalSummary> journals{};
  OpRecordCounts* by_op = nullptr;  ///< null: not asked for
  std::set<std::string> builds{};   ///< of the programs, as journals tell them
  std::uint64_t files = 0;          ///< that are there as they were written
  std::uint64_t bytes = 0;
};

/// Checks the directory of one moment: its journals, and the files that they name or do not name. Remembers the
/// operators with losses, the name of each other operator once, with ranges of steps, and a hash of each file's path.
class DumpCheck final : private JournalFindings {
 public:
  DumpCheck(VerifyContext& context, std::string directory);

  void check(const std::vector<std::string>& journal_names);

 private:
  void on_written(std::uint32_t recorder, std::uint32_t sequence, const JournalPath& path,
                  std::string_view path_text, std::uint64_t bytes) override;
  void on_row(const JournalPath& path, std::string_view path_text, std::uint64_t bytes) override;
  void on_digests(std::uint32_t count, std::uint64_t bytes) override;
  void on_lost(std::uint32_t recorder, std::uint32_t sequence, std::string_view causes,
               const JournalPath* path) override;
  void on_reduced(std::uint32_t recorder, std::uint32_t sequence, std::string_view causes,
                  const JournalPath& path, std::string_view path_text, std::uint64_t bytes) override;
  void on_gap(std::uint32_t recorder, std::uint32_t first, std::uint32_t last,
              std::string_view causes) override;
  void on_op(const JournalLine& line) override;
  void on_never(const NeverCaptured& what) override;
  void on_chunk(const JournalLine& line) override;
  void on_provenance(const Provenance& provenance) override;
  void on_history(std::uint32_t history_steps, std::uint32_t after_steps) override;
  void on_fired(const ToldFiring& firing, std::uint32_t forgotten) override;
  void on_trigger(std::uint64_t number, const ToldFiring& trigger, const FiringCounts& counts) override;
  void on_wrote(std::uint32_t records, std::uint32_t lost) override;
  void on_untold(std::uint64_t number, std::uint32_t untold, const DumpCounts& counts) override;
  void on_forgotten(const JournalLine& what, bool names_files) override;
  void on_files_removed(std::uint64_t count, bool names_files) override;
  void on_cut(std::uint32_t recorder, std::uint32_t next) override;
  void on_cut_counts(std::uint32_t written, std::uint32_t lost) override;

  void add_loss(FindingKind kind, std::uint32_t recorder, std::uint32_t sequence, std::string_view causes,
                const JournalPath* path);
  bool is_removed(std::string_view path);
  bool others_forget() const;
  bool check_file(std::uint32_t recorder, std::uint32_t sequence, std::string_view path_text,
                  std::uint64_t bytes, const JournalPath* path);
  void check_other(const JournalLine& line);
  void add_row(std::string_view path_text, std::uint64_t bytes);
  void check_tables();
  void check_digests(const std::string& name, const JournalSummary& summary, JournaledDevice& device);
  std::uint64_t read_digests(const std::string& name, Bytes file, bool may_be_cut);
  void note_history();
  void read_removals(const std::string& name);
  void check_journal(const std::string& name);
  void tell_counted_files();
  void add_file(FindingKind kind, bool wrong, const std::string& path, const std::string& message);
  /// What is counted of an operator, for who asked for that; else null.
  ToldRecords* records_of(const JournalPath& path);
  void count(const JournalPath& path, std::uint64_t RecordCounts::*what);
  /// Notes what a line of the journal says of a record, whatever became of that.
  void see(const JournalPath& path);
  void see_file(const std::string& path, const JournalPath& parsed);
  /// Notes what the file of a record, which is open, has of what the config wants.
  void see_content(const JournalPath& parsed);
  void see_rows(const std::string& path, const std::string& real_path);
  void walk(const std::string& below);
  void walk_file(const std::string& below, const std::string& name, const std::string& real_name,
                 const PendingPairs& pairs);
  void check_unnamed(JournaledDevice& device, const std::string& path, std::string_view suffix);
  void count_rows(JournaledDevice& device, const std::string& path, const std::string& real_path,
                  bool listed);

  VerifyContext& context_;
  const std::string directory_;
  std::string journal_;     ///< path of the one being read
  std::string provenance_;  ///< of it, as it was told last
  std::uint64_t journal_device_ = 0;
  std::map<std::string, OverwrittenStart> cuts_;    ///< by the journal's name
  OverwrittenStart* cut_ = nullptr;                 ///< of the one being read
  bool has_history_ = false;                        ///< the one being read is of a history
  std::optional<std::uint32_t> history_wrote_;      ///< records, by the last line that tells
  TriggerAccounts triggers_;                        ///< of it
  std::uint64_t digested_ = 0;                      ///< records of the one being read, in its file of digests
  std::uint64_t digest_bytes_ = 0;                  ///< of that file, by its lines
  std::unordered_multiset<std::uint64_t> listed_;   ///< hashes of paths
  std::map<std::string, TableRows> tables_;         ///< rows that lines name, by path
  std::unordered_multiset<std::uint64_t> removed_;  ///< the same, as they are on the disk
  std::set<std::string> forgets_;                   ///< paths of journals that were shortened
  LossGroups losses_;
  JournaledDevices devices_;
  MappedNames names_;
  KnownRecords known_;
  NeverLines never_;
  OpSteps op_steps_;
};

}  // namespace opdump::tool
