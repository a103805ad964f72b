#include "src/tool/verify/trigger_accounts.hpp"

#include <map>
#include <string>
#include <vector>

#include "src/config/text/display_text.hpp"
#include "src/config/text/human_text.hpp"
#include "src/tool/cli/progress.hpp"
#include "src/tool/read/journal/journal_reader.hpp"

namespace opdump::tool {
namespace {

/// In the order of HeldFiring.
constexpr std::string_view kHeldTexts[] = {"by its cooldown", "by the limit of firings",
                                           "by the limit of bytes", "as the drainer was too far behind"};
static_assert(std::size(kHeldTexts) == kHeldFirings);

}  // namespace

std::string firing_text(const ToldFiring& firing) {
  std::string text(kTriggerWords[static_cast<std::size_t>(firing.cause)]);
  if (!firing.value.empty()) text.append(" ").append(firing.value);
  if (!firing.limit.empty())
    text.append(" ").append(firing.limit.substr(0, 1)).append(" ").append(firing.limit.substr(1));
  return text;
}

std::string firing_counts_text(TriggerCause cause, const FiringCounts& counts) {
  std::string text = count_text(counts.fired, "firing");
  for (std::size_t i = 0; i < kHeldFirings; ++i) {
    if (counts.held[i] != 0)
      text += "; " + std::to_string(counts.held[i]) + " held back " + std::string(kHeldTexts[i]);
  }
  if (counts.cut != 0) text += "; " + count_text(counts.cut, "write-out") + " ended by the limit of bytes";
  const bool is_told = cause == TriggerCause::failure || cause == TriggerCause::call;
  if (is_told && counts.looks == 0) return text + "; the program told of none";
  text += "; " + count_text(counts.looks, "look");
  if (counts.unread != 0)
    text += ", and " + std::to_string(counts.unread) + " more at tensors that could not be read";
  return text;
}

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
  for (const FoundFile& file : files) {
    if (file.real_name != kHistoryFile) continue;
    for (const std::string& step : torn_steps(file.path)) tell(step);
  }
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

TriggerAccounts::Account& TriggerAccounts::account_of(const ToldFiring& trigger) {
  Account& account = accounts_[trigger.trigger];
  account.trigger.trigger = trigger.trigger;
  account.trigger.cause = trigger.cause;
  return account;
}

void TriggerAccounts::add_firing(const ToldFiring& firing, std::uint32_t forgotten) {
  account_of(firing).fired += forgotten == 0 ? 1 : forgotten;
  if (forgotten == 0) told_.fired(firing);
}

void TriggerAccounts::add_counts(std::uint64_t number, const ToldFiring& trigger, const FiringCounts& counts,
                                 bool may_be_cut) {
  Account& account = account_of(trigger);
  account.counts = counts;
  account.counted = true;
  if (counts.fired != account.fired && !may_be_cut)
    told_.on_problem(number, "trigger " + std::to_string(trigger.trigger) + " counts " +
                                 count_text(counts.fired, "firing") + ", and the lines before tell of " +
                                 std::to_string(account.fired));
}

void TriggerAccounts::tell(bool closed) {
  for (const auto& [number, account] : accounts_) {
    if (account.counted) {
      told_.trigger(account.trigger, account.counts);
    } else if (closed) {
      told_.on_problem(0, "nothing tells how often trigger " + std::to_string(number) + " was held back");
    }
  }
}

}  // namespace opdump::tool
