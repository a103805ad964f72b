#include <algorithm>
#include <cstdio>
#include <optional>
#include <string>
#include <vector>

#include "src/config/text/human_text.hpp"
#include "src/tool/cli/commands.hpp"
#include "src/tool/cli/exit_code.hpp"
#include "src/tool/cli/json.hpp"
#include "src/tool/cli/messages.hpp"
#include "src/tool/cli/options.hpp"
#include "src/tool/cli/progress.hpp"
#include "src/tool/judge/compare/dump_comparison.hpp"
#include "src/tool/judge/why/judgement.hpp"
#include "src/tool/page/journal_facts.hpp"
#include "src/tool/read/dump/statistics_file.hpp"

namespace opdump::tool {
namespace {

constexpr char kWhyHelp[] =
    R"(opdump why - says in one sentence which operator of a dump went wrong first, and how that is known

usage: opdump why MINE [-g GOLDEN] [-e EXPECTED] [--model CARD] [--step STEPS] [--json]

)";

constexpr char kWhyAbout[] =
    R"(      --json               the same as one JSON object

Without GOLDEN it says what the dump alone tells: the first NaN and infinity, saturated integers, outputs that were
overwritten before they were read, and what the journal says was lost.

The first line is the sentence to act on. Below it: the evidence, what else was found, and what could not be judged.

An operator is accused only where it is proved: all its inputs are in both dumps, but for constants where one dump has
no weights, which the sentence then names; and its error is ten times what theirs accounts for, or, from equal inputs,
more than a healthy operator of its dtype adds, within the limits too where all else is equal (of choices, roundings,
quotients and types that are not known, equal inputs alone are a proof); or what is wrong is known by itself: the
first NaN, saturated integers, another constant, swapped inputs or outputs. Else it says "not certain". It may also
say that no operator is to blame: the model's inputs differ, an operator is missing, or all is of another step. That
needs inputs in both dumps ("dump_mode": "all"), and is sharper with the model's card. Without a golden dump only the
first NaN is a proof: infinities may be a mask, and saturated integers what was meant.

  $ opdump why dump -g golden
  first cause: Conv "conv1" at net/0, culprit: its input agrees, output 0 does not (cosine 0.93 < 0.99)
  18 operators: 3 agree, 1 culprit, 14 victims
  evidence:
    operator 4 of 18 at net/0
    input 0, which is output 0 of "relu0", is equal
    output 0 diverges: cosine 0.93, euclid 0.37; farthest at [7,2], 3.2 for 1.6
      36 of 288 elements are off, all of index 7 of axis 0, each 2 times golden's
  $ opdump why npu_int8 -g cpu_float --model net.json
  $ opdump why npu_int8 -g cpu_float -e cpu_int8 --model net.json
  $ opdump why dump

Then 'opdump show --op NAME', 'opdump compare' and 'opdump report' show the same operator's numbers.

exit status
  0  nothing is wrong in what could be judged
  1  something is: the first line names it
  2  the command line is wrong, or the dumps are of different models
  3  nothing could be judged; the lines say why
)";

constexpr int kExitUnjudged = kExitInactive;

void print_list(const char* title, const std::vector<std::string>& lines) {
  constexpr std::size_t kMost = 12;
  if (lines.empty()) return;
  print_line(title);
  for (std::size_t i = 0; i < std::min(lines.size(), kMost); ++i) print_line("  " + lines[i]);
  if (lines.size() > kMost) print_line("  and " + std::to_string(lines.size() - kMost) + " more");
}

int give(const Judgement& answer, const DumpSide& mine, bool json) {
  const bool wrong = !answer.headline.empty();
  const std::string headline = wrong        ? answer.headline
                               : answer.any ? "nothing is wrong in what could be judged"
                                            : "nothing could be judged";
  if (json) {
    JsonWriter writer;
    writer.open('{').key("headline").text(headline);
    if (answer.tensor) {
      const DumpFile file = mine.files[mine.tensors[*answer.tensor].file];
      writer.key("op").text(file.op);
      if (!file.type.empty()) writer.key("type").text(file.type);
      if (!file.place.empty()) writer.key("place").text(file.place);
      if (file.boot) writer.key("boot").number(*file.boot);
    }
    if (!answer.cause.empty()) writer.key("cause").text(answer.cause);
    writer.key("wrong").flag(wrong).key("certain").flag(answer.certain).key("judged").text(answer.judged);
    const auto list = [&](const char* key, const std::vector<std::string>& lines) {
      writer.line().key(key).open('[');
      for (const std::string& line : lines) writer.line(2).text(line);
      writer.close(']');
    };
    list("evidence", answer.evidence);
    list("others", answer.others);
    list("not_judged", answer.unjudged);
    writer.line().close('}');
    std::puts(writer.take().c_str());
  } else {
    print_line(headline);
    if (!answer.judged.empty()) print_line(answer.judged);
    print_list("evidence:", answer.evidence);
    print_list("also:", answer.others);
    print_list("not judged:", answer.unjudged);
  }
  return wrong ? kExitFailed : answer.any ? kExitOk : kExitUnjudged;
}

/// What nobody can judge, as it was lost or never kept.
void add_losses(const DumpComparison& dumps, Judgement& answer) {
  for (const auto& [kept, count] : dumps.mine().kept)
    answer.unjudged.push_back(count_text(count, "tensor") + " of mine: " + kept_words(kept));
  const JournalFacts journal = read_journals(dumps.my_path(), nullptr);
  if (journal.journals == 0) {
    answer.unjudged.push_back("whether records were lost: the dump has no journal");
  } else if (journal.lost != 0 || !journal.complete) {
    answer.unjudged.push_back(
        "what the dump lacks: it is " + journal.verdict + ", " + std::to_string(journal.lost) + " of " +
        count_text(journal.written + journal.lost, "record") + " lost, and 'opdump verify' tells all");
  }
}

}  // namespace

int run_why(Words words) {
  CompareChoice choice;
  bool json = false;
  const std::string help = std::string(kWhyHelp).append(kCompareOptionsHelp).append(kWhyAbout);
  const std::vector<Option> options = compare_options(choice, {{"--json", {}, &json}});
  std::vector<std::string> rest;
  if (const std::optional<int> end = read_options({"why", help, options}, words, rest)) return *end;
  if (rest.empty()) return usage_error("why", "MINE, a dump, is missing");
  if (rest.size() > 1)
    return usage_error("why",
                       "one dump at a time, not also '" + rest[1] + "'; '-g GOLDEN' names the golden one");
  choice.mine = rest[0];
  std::vector<std::string> unread;
  DumpComparison dumps;
  std::string error;
  if (!dumps.choose(choice, error)) return usage_error("why", error);
  const SearchReport search = {.error = [&](const std::string& message) { unread.push_back(message); },
                               .note = [](const std::string& message) { say("opdump why: " + message); }};
  catch_interrupts();
  if (const std::optional<int> end = dumps.read(search)) {
    if (*end != kExitUsage) return give({.unjudged = unread}, dumps.mine(), json);
    for (const std::string& message : unread) say("opdump why: " + message);
    return *end;
  }
  Judgement answer;
  const std::vector<const Measure*> measures;
  if (choice.golden) {
    const bool detail = needs_detail(measures, dumps.thresholds());
    dumps.compare(detail);
    const std::optional<CompareReport> expected = dumps.compare_expected(detail, measures);
    if (interrupted()) die_of_interrupt();
    answer = judge_against_golden(dumps.report(measures), expected ? &*expected : nullptr);
  } else {
    answer = judge_alone(dumps.mine(), find_edges(dumps.mine(), nullptr, unread));
    answer.judged += ", without a golden dump; -g GOLDEN tells more";
  }
  answer.unjudged.insert(answer.unjudged.begin(), unread.begin(), unread.end());
  if (interrupted()) die_of_interrupt();
  add_losses(dumps, answer);
  return give(answer, dumps.mine(), json);
}

}  // namespace opdump::tool
