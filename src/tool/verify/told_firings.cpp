#include "src/tool/verify/told_firings.hpp"

#include <map>

#include "src/tool/cli/display_text.hpp"
#include "src/tool/verify/firing_text.hpp"
#include "src/tool/verify/journal_reader.hpp"

namespace opdump::tool {

void tell_firings(const FileList& files, const std::function<void(const std::string&)>& tell) {
  for (const FoundFile& file : files) {
    JournalName name;
    JournalReader reader;
    if (!parse_journal_name(file.real_name, name) || !reader.open(file.path)) continue;
    std::map<std::uint32_t, std::string> counts;
    for (JournalReader::Next next = reader.next();
         next != JournalReader::Next::end && next != JournalReader::Next::failed; next = reader.next()) {
      JournalLine line;
      std::string reason;
      if (next != JournalReader::Next::line || !parse_journal_line(reader.line(), line, reason)) continue;
      if (line.kind == JournalLine::Kind::fired)
        tell("fired    step " + std::to_string(line.firing.step) + "  " + printable(line.firing.where) +
             "  " + firing_text(line.firing) + "  (trigger " + std::to_string(line.firing.trigger) + ")");
      if (line.kind == JournalLine::Kind::trigger)
        counts[line.firing.trigger] = "trigger " + std::to_string(line.firing.trigger) + ": " +
                                      firing_counts_text(line.firing.cause, line.firing_counts);
    }
    for (const auto& [trigger, text] : counts) tell(text);
  }
}

}  // namespace opdump::tool
