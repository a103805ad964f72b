#include "src/tool/judge/diff/run_verdicts.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <tuple>
#include <utility>

#include "src/tool/cli/progress.hpp"

namespace opdump::tool {
namespace {

using State = RunDigest::State;
using EqualRuns = std::vector<std::uint16_t>;

/// What the runs have at one place.
class Row {
 public:
  Row(const RunTable& table, std::size_t place) {
    for (std::size_t run = 0; run < table.runs().size(); ++run) {
      digests_.push_back(table.at(run, place));
      const State state = digests_.back().state;
      is_missing_ = is_missing_ || state == State::absent;
      is_there_ = is_there_ || state != State::absent;
      is_flaky_ = is_flaky_ || state == State::flaky;
    }
    set_basis();
  }

  bool is_flaky() const { return is_flaky_; }
  bool is_missing() const { return is_missing_; }
  /// Null: no run has what can be compared.
  const RunDigest* basis() const { return basis_; }

  /// Sets `groups`; false when those runs agree that can be compared.
  bool part(EqualRuns& groups) const {
    std::vector<RunDigest> known;
    for (std::size_t run = 0; run < digests_.size(); ++run) {
      groups[run] = kNoGroup;
      if (!is_comparable(digests_[run])) continue;
      const auto found = std::find(known.begin(), known.end(), digests_[run]);
      groups[run] = static_cast<std::uint16_t>(found - known.begin());
      if (found == known.end()) known.push_back(digests_[run]);
    }
    return is_there_ && (known.size() > 1 || is_missing_);
  }

  bool are_all_compared() const {
    return std::all_of(digests_.begin(), digests_.end(),
                       [this](const RunDigest& one) { return is_comparable(one); });
  }

 private:
  bool is_comparable(const RunDigest& one) const {
    return one.state == State::absent ||
           (one.state == State::there && basis_ != nullptr && one.basis == basis_->basis);
  }

  /// The first one that two runs have, or else the first.
  void set_basis() {
    for (std::size_t run = 0; run < digests_.size(); ++run) {
      const RunDigest& one = digests_[run];
      if (one.state != State::there) continue;
      if (basis_ == nullptr) basis_ = &one;
      const auto is_like = [&one](const RunDigest& other) {
        return other.state == State::there && other.basis == one.basis;
      };
      if (!std::any_of(digests_.begin() + static_cast<std::ptrdiff_t>(run) + 1, digests_.end(), is_like))
        continue;
      basis_ = &one;
      return;
    }
  }

  std::vector<RunDigest> digests_;
  const RunDigest* basis_ = nullptr;
  bool is_there_ = false;
  bool is_missing_ = false;
  bool is_flaky_ = false;
};

std::uint16_t last_group(const EqualRuns& groups) {
  std::uint16_t last = 0;
  for (const std::uint16_t group : groups) last = group == kNoGroup ? last : std::max(last, group);
  return last;
}

bool agrees_in_sides(const RunTable& table, const EqualRuns& groups) {
  std::map<std::size_t, std::uint16_t> group_of;
  for (std::size_t run = 0; run < groups.size(); ++run) {
    if (groups[run] != kNoGroup &&
        group_of.emplace(table.runs()[run].side, groups[run]).first->second != groups[run])
      return false;
  }
  return true;
}

/// The two groups into which most rows fall; empty: none do.
EqualRuns usual_groups(const RunDifferences& differences) {
  std::map<EqualRuns, std::size_t> counts;
  std::size_t all = 0;
  for (const RunDifference& difference : differences) {
    all += difference.verdict != RunVerdict::missing ? 1 : 0;
    if (difference.verdict != RunVerdict::missing && last_group(difference.groups) == 1)
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

RunDifferences judge_runs(const RunTable& table, bool by_groups, const RunDigest& nothing,
                          RunCounts& counts) {
  RunDifferences differences;
  EqualRuns groups(table.runs().size());
  Progress progress(table.order().size(), "comparing runs");
  for (const std::size_t place : table.order()) {
    progress.add();
    const Row row(table, place);
    if (row.is_flaky()) {
      ++counts.not_held;
    } else if (row.part(groups)) {
      differences.push_back({place, row.is_missing() ? RunVerdict::missing : RunVerdict::different, groups});
    } else if (row.basis() == nullptr || !row.are_all_compared()) {
      ++counts.not_compared;
    } else if (table.is_statistics(*row.basis())) {
      ++counts.statistics;
    } else {
      ++(*row.basis() == nothing ? counts.empty : counts.same);
    }
  }
  const bool guesses = by_groups && groups.size() > 2;
  const EqualRuns usual = guesses ? usual_groups(differences) : EqualRuns();
  for (RunDifference& difference : differences) {
    const bool agrees =
        guesses ? difference.groups == usual : by_groups || agrees_in_sides(table, difference.groups);
    if (difference.verdict != RunVerdict::missing && !agrees) difference.verdict = RunVerdict::flaky;
  }
  return differences;
}

std::vector<FleetRun> judge_fleet(const RunTable& table, const RunDigest& nothing) {
  std::vector<FleetRun> fleet(table.runs().size());
  Progress progress(table.order().size(), "comparing runs");
  for (const std::size_t place : table.order()) {
    progress.add();
    using Value = std::tuple<std::uint16_t, std::uint16_t, std::array<std::byte, 16>>;
    std::uint16_t told = 0;
    for (std::size_t run = 0; run < fleet.size() && told == 0; ++run) told = table.at(run, place).form;
    const auto value = [told](const RunDigest& one) {
      return Value(one.basis, one.form == 0 ? told : one.form, one.bytes);
    };
    std::map<Value, std::size_t> counts;
    std::map<std::uint16_t, std::size_t> of_basis;
    for (std::size_t run = 0; run < fleet.size(); ++run) {
      const RunDigest one = table.at(run, place);
      if (one.state != State::there || one == nothing) continue;
      ++counts[value(one)];
      ++of_basis[one.basis];
    }
    const auto most = std::max_element(counts.begin(), counts.end(),
                                       [](const auto& a, const auto& b) { return a.second < b.second; });
    const std::size_t comparable = most == counts.end() ? 0 : of_basis[std::get<0>(most->first)];
    const bool is_known = comparable > 2 && 2 * most->second > comparable;
    for (std::size_t run = 0; run < fleet.size(); ++run) {
      const RunDigest one = table.at(run, place);
      FleetRun& judged = fleet[run];
      if (one.state == State::absent) {
        ++judged.lacks;
      } else if (!is_known || one.state != State::there || one.basis != std::get<0>(most->first)) {
        ++judged.not_compared;
      } else if (value(one) == most->first) {
        ++judged.agrees;
      } else if (judged.differs++ == 0) {
        judged.first = place;
      }
    }
  }
  return fleet;
}

bool are_statistics(const RunTable& table, std::size_t place) {
  const Row row(table, place);
  return row.basis() != nullptr && table.is_statistics(*row.basis());
}

std::string place_text(const RunTable& table, std::size_t place) {
  const RunPlace& at = table.places()[place];
  const SummedTensor& tensor = table.tensors()[at.tensor];
  std::string text = tensor.text();
  if (!tensor.model.empty()) text += " of " + tensor.model;
  text += " at step " + std::to_string(at.step);
  if (at.turn != 0) text += ", turn " + std::to_string(at.turn + 1);
  return text;
}

JsonWriter& write_place(JsonWriter& json, const RunTable& table, std::size_t place) {
  const RunPlace& at = table.places()[place];
  const SummedTensor& tensor = table.tensors()[at.tensor];
  json.key("model").text(tensor.model).key("type").text(tensor.type).key("op").text(tensor.op);
  json.key("role").text(tensor.is_output ? "output" : "input").key("index").number(tensor.index);
  json.key("step").number(at.step);
  return at.turn == 0 ? json : json.key("turn").number(at.turn);
}

std::string groups_text(const RunDifference& difference) {
  constexpr std::uint16_t kMost = 4;
  const std::uint16_t last = last_group(difference.groups);
  std::string text;
  for (std::uint16_t group = 0; group <= std::min(last, kMost); ++group)
    text += (group == 0 ? "" : " against ") + runs_text(difference.groups, group);
  return last <= kMost ? text : text + " against " + std::to_string(last - kMost) + " more groups";
}

}  // namespace opdump::tool
