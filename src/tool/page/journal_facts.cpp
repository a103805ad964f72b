#include "src/tool/page/journal_facts.hpp"

#include <sys/stat.h>
#include <utility>
#include <vector>

#include "src/config/text/config_text.hpp"
#include "src/tool/config/checked_config.hpp"
#include "src/tool/verify/journaled_dumps.hpp"

namespace opdump::tool {

ConfigFacts read_config_facts(const std::string& file) {
  ConfigFacts facts;
  facts.file = file;
  CheckedConfig checked;
  facts.valid = checked.load(file, nullptr) == Status::ok;
  facts.active = facts.valid && checked.config.active;
  if (!facts.valid) facts.lines.push_back(to_string(checked.error, file));
  if (facts.active) facts.lines = config_lines(checked.config);
  for (const ConfigNote& note : checked.notes) facts.notes.push_back(to_string(note, file));
  return facts;
}

namespace {

/// Journals as they are checked, and what is found.
struct CheckedJournals {
  Findings findings{nullptr};
  std::vector<JournalSummary> journals{};
};

/// `by_op`: null: not asked for.
void check_journals(const std::string& directory, WantedRecords* wanted, OpRecordCounts* by_op,
                    CheckedJournals& check) {
  std::vector<JournaledDump> dumps;
  std::uint64_t journal_bytes = 0;
  find_dumps(directory, dumps, journal_bytes, check.findings);
  Progress progress(journal_bytes);
  BesideCards cards([](const std::string&) {});
  VerifyContext context = {.findings = check.findings,
                           .progress = progress,
                           .cards = cards,
                           .wanted = wanted,
                           .wants_cards = wanted != nullptr,
                           .quick = true,
                           .by_op = by_op};
  for (const JournaledDump& dump : dumps) {
    if (!dump.journals.empty()) DumpCheck(context, dump.directory).check(dump.journals);
  }
  check.journals = std::move(context.journals);
}

}  // namespace

JournalFacts read_journals(const std::string& directory, WantedRecords* wanted) {
  JournalFacts facts;
  struct stat status {};
  if (stat(directory.c_str(), &status) != 0 || !S_ISDIR(status.st_mode)) return facts;
  CheckedJournals check;
  check_journals(directory, wanted, nullptr, check);
  const Findings& findings = check.findings;
  facts.journals = check.journals.size();
  if (facts.journals == 0) return facts;
  for (const JournalSummary& journal : check.journals) {
    facts.written += journal.written;
    facts.lost += journal.lost;
    facts.devices.insert(journal.name.device);
  }
  facts.verdict = findings.verdict();
  facts.complete = findings.complete();
  facts.findings = findings.groups();
  // A large dump of many operators would take much memory, and mostly nothing is missing of them.
  if (CheckedJournals again; !facts.findings.empty()) check_journals(directory, nullptr, &facts.by_op, again);
  for (FindingGroup& group : facts.findings) {
    for (std::vector<std::string>& row : group.rows) {
      for (std::string& cell : row) {
        if (cell.starts_with(directory + "/")) cell.erase(0, directory.size() + 1);
      }
    }
  }
  return facts;
}

}  // namespace opdump::tool
