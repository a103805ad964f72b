#include "src/tool/report/journal_facts.hpp"

#include <sys/stat.h>

#include "src/tool/verify/journaled_dumps.hpp"

namespace opdump::tool {

JournalFacts read_journals(const std::string& directory, WantedRecords* wanted) {
  JournalFacts facts;
  struct stat status {};
  if (stat(directory.c_str(), &status) != 0 || !S_ISDIR(status.st_mode)) return facts;
  Findings findings(nullptr);
  std::vector<JournaledDump> dumps;
  std::uint64_t journal_bytes = 0;
  find_dumps(directory, dumps, journal_bytes, findings);
  Progress progress(journal_bytes);
  BesideCards cards([](const std::string&) {});
  VerifyContext context = {.findings = findings,
                           .progress = progress,
                           .cards = cards,
                           .wanted = wanted,
                           .wants_cards = wanted != nullptr,
                           .quick = true,
                           .by_op = &facts.by_op};
  for (const JournaledDump& dump : dumps) {
    if (!dump.journals.empty()) DumpCheck(context, dump.directory).check(dump.journals);
  }
  facts.journals = context.journals.size();
  if (facts.journals == 0) return facts;
  for (const JournalSummary& journal : context.journals) {
    facts.written += journal.written;
    facts.lost += journal.lost;
    facts.devices.insert(journal.name.device);
  }
  facts.verdict = findings.verdict();
  facts.complete = findings.complete();
  facts.findings = findings.groups();
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
