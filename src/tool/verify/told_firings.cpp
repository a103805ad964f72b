#include "src/tool/verify/told_firings.hpp"

#include <map>
#include <vector>

#include "src/config/text/display_text.hpp"
#include "src/tool/cli/progress.hpp"
#include "src/tool/read/journal/journal_reader.hpp"
#include "src/tool/verify/firing_text.hpp"

namespace opdump::tool {
namespace {

std::vector<FoundFile> journals_among(const std::vector<FoundFile>& files) {
  Progress progress(files.size(), "looking for journals");
  std::vector<FoundFile> journals;
  for (const FoundFile& file : files) {
    JournalName name;
    if (parse_journal_name(file.real_name, name)) journals.push_back(file);
    progress.add();
  }
  return journals;
}

}  // namespace

void tell_firings(const std::vector<FoundFile>& files, const std::function<void(const std::string&)>& tell) {
  const std::vector<FoundFile> journals = journals_among(files);
  std::uint64_t bytes = 0;
  for (const FoundFile& journal : journals) bytes += bytes_of(journal);
  Progress progress(bytes);
  const auto tell_above = [&](const std::string& line) {
    progress.wipe();
    tell(line);
  };
  for (const FoundFile& journal : journals) {
    JournalReader reader;
    if (!reader.open(journal.path)) continue;
    std::map<std::uint32_t, std::string> counts;
    for (JournalReader::Next next = reader.next();
         next != JournalReader::Next::end && next != JournalReader::Next::failed; next = reader.next()) {
      JournalLine line;
      std::string reason;
      progress.add(reader.line().size() + 1);
      if (next != JournalReader::Next::line || !parse_journal_line(reader.line(), line, reason)) continue;
      if (line.kind == JournalLine::Kind::fired)
        tell_above("fired    step " + std::to_string(line.firing.step) + "  " + printable(line.firing.where) +
                   "  " + firing_text(line.firing) + "  (trigger " + std::to_string(line.firing.trigger) +
                   ")");
      if (line.kind == JournalLine::Kind::trigger)
        counts[line.firing.trigger] = "trigger " + std::to_string(line.firing.trigger) + ": " +
                                      firing_counts_text(line.firing.cause, line.firing_counts);
    }
    for (const auto& [trigger, text] : counts) tell_above(text);
  }
}

}  // namespace opdump::tool
