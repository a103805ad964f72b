#include "src/tool/diff/run_verdicts.hpp"

#include <algorithm>
#include <map>

#include "src/tool/cli/progress.hpp"

namespace opdump::tool {
namespace {

using State = RunDigest::State;
using EqualRuns = std::vector<std::uint16_t>;

/// Sets `groups`; false when all runs agree.
bool part(const RunTable& table, std::size_t place, bool& is_missing, EqualRuns& groups) {
  std::vector<RunDigest> known;
  bool there = false;
  is_missing = false;
  for (std::size_t run = 0; run < groups.size(); ++run) {
    const RunDigest digest = table.at(run, place);
    if (digest.state == State::flaky || digest.state == State::unknown) return false;
    there = there || digest.state == State::there;
    is_missing = is_missing || digest.state == State::absent;
    std::size_t group = 0;
    while (group < known.size() && known[group] != digest) ++group;
    if (group == known.size()) known.push_back(digest);
    groups[run] = static_cast<std::uint16_t>(group);
  }
  return there && known.size() > 1;
}

bool agrees_in_sides(const RunTable& table, const EqualRuns& groups) {
  std::map<std::size_t, std::uint16_t> group_of;
  for (std::size_t run = 0; run < groups.size(); ++run) {
    if (group_of.emplace(table.runs()[run].side, groups[run]).first->second != groups[run]) return false;
  }
  return true;
}

/// The two groups into which most rows fall; empty: none do.
EqualRuns usual_groups(const RunDifferences& differences) {
  std::map<EqualRuns, std::size_t> counts;
  std::size_t all = 0;
  for (const RunDifference& difference : differences) {
    all += difference.verdict != RunVerdict::missing ? 1 : 0;
    if (difference.verdict != RunVerdict::missing &&
        *std::max_element(difference.groups.begin(), difference.groups.end()) == 1)
      ++counts[difference.groups];
  }
  const auto usual = std::max_element(counts.begin(), counts.end(),
                                      [](const auto& a, const auto& b) { return a.second < b.second; });
  return usual == counts.end() || 2 * usual->second <= all ? EqualRuns() : usual->first;
}

std::string runs_text(const EqualRuns& groups, std::uint16_t group) {
  std::string text;
  std::size_t count = 0;
  for (std::size_t run = 0; run < groups.size(); ++run) {
    if (groups[run] != group) continue;
    const std::size_t first = run;
    while (run + 1 < groups.size() && groups[run + 1] == group) ++run;
    text += (text.empty() ? "" : ", ") + std::to_string(first + 1);
    if (run > first) text += (run == first + 1 ? ", " : " to ") + std::to_string(run + 1);
    count += run - first + 1;
  }
  return (count == 1 ? "run " : "runs ") + text;
}

}  // namespace

std::string_view word_of(RunVerdict verdict) {
  constexpr std::string_view kWords[] = {"same", "different", "flaky", "missing"};
  return kWords[static_cast<std::size_t>(verdict)];
}

void write_fields(FieldWriter& to, const RunDifference& difference) {
  to.put(difference.place).put(difference.verdict).list(difference.groups);
}

void read_fields(FieldReader& from, RunDifference& difference) {
  from.get(difference.place).get(difference.verdict).list(difference.groups);
}

RunDifferences judge_runs(const RunTable& table, bool by_groups) {
  RunDifferences differences;
  EqualRuns groups(table.runs().size());
  bool is_missing = false;
  Progress progress(table.order().size(), "comparing runs");
  for (const std::size_t place : table.order()) {
    progress.add();
    if (part(table, place, is_missing, groups))
      differences.push_back({place, is_missing ? RunVerdict::missing : RunVerdict::different, groups});
  }
  const bool guesses = by_groups && groups.size() > 2;
  const EqualRuns usual = guesses ? usual_groups(differences) : EqualRuns();
  RunDifferences judged;
  for (RunDifference difference : differences) {
    const bool agrees =
        guesses ? difference.groups == usual : by_groups || agrees_in_sides(table, difference.groups);
    if (difference.verdict != RunVerdict::missing && !agrees) difference.verdict = RunVerdict::flaky;
    judged.push_back(difference);
  }
  return judged;
}

std::string place_text(const RunTable& table, std::size_t place) {
  const RunPlace at = table.places()[place];
  const SummedTensor tensor = table.tensors()[at.tensor];
  std::string text = tensor.text();
  if (!tensor.model.empty()) text += " of " + tensor.model;
  text += " at step " + std::to_string(at.step);
  if (at.turn != 0) text += ", turn " + std::to_string(at.turn + 1);
  return text;
}

JsonWriter& write_place(JsonWriter& json, const RunTable& table, std::size_t place) {
  const RunPlace at = table.places()[place];
  const SummedTensor tensor = table.tensors()[at.tensor];
  json.key("model").text(tensor.model).key("type").text(tensor.type).key("op").text(tensor.op);
  json.key("role").text(tensor.is_output ? "output" : "input").key("index").number(tensor.index);
  json.key("step").number(at.step);
  return at.turn == 0 ? json : json.key("turn").number(at.turn);
}

std::string groups_text(const RunDifference& difference) {
  constexpr std::uint16_t kMost = 4;
  const std::uint16_t last = *std::max_element(difference.groups.begin(), difference.groups.end());
  std::string text;
  for (std::uint16_t group = 0; group <= std::min(last, kMost); ++group)
    text += (group == 0 ? "" : " against ") + runs_text(difference.groups, group);
  return last <= kMost ? text : text + " against " + std::to_string(last - kMost) + " more groups";
}

}  // namespace opdump::tool
