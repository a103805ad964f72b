#include "src/tool/page/report_runs.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "src/tool/cli/decimal.hpp"
#include "src/tool/judge/compare/compare_side.hpp"
#include "src/tool/judge/diverge/diverge_report.hpp"

namespace opdump::tool {

std::vector<IsolatedError> find_isolated_errors(const ReplayModel& model, OpReference& reference,
                                                ReportFacts& facts, std::optional<std::size_t>& first) {
  constexpr std::size_t kMostReasons = 500;
  const DumpSide& side = facts.dumps.stored();
  const OpLimits limits;
  const ChosenSteps all_steps;
  std::vector<std::string> errors;  // of folders for operators that fail, of which there are none
  const std::vector<ReplayedOp> ops = replay_ops({.side = side,
                                                  .model = model,
                                                  .reference = reference,
                                                  .limits = limits,
                                                  .steps = all_steps,
                                                  .failing_directory = {}},
                                                 errors);
  const DivergeReport report = {side, ops, reference.name()};
  facts.recomputed = report.counts_text();
  const ReplayedOp* const worst = report.first_diverging();
  if (worst != nullptr) facts.own_fault = report.first_text(*worst);
  std::map<std::size_t, std::size_t> runs;
  std::size_t number = 0;
  for (const ReportRun& run : facts.runs) runs.emplace(run.file, number++);
  std::vector<IsolatedError> found(facts.runs.size());
  std::size_t told = 0;
  for (const ReplayedOp& op : ops) {
    const auto at = runs.find(op.file);
    if (at == runs.end()) continue;
    IsolatedError& run = found[at->second];
    run.is_own_fault = op.verdict == ReplayVerdict::culprit;
    for (const ReplayedOutput& output : op.outputs)
      run.error = std::isnan(run.error) ? output.error.euclid : std::max(run.error, output.error.euclid);
    if (run.is_own_fault || told++ < kMostReasons) facts.replayed[at->second] = report.evidence_of(op);
    if (&op == worst) first = at->second;
  }
  return found;
}

namespace {

ReportPlace place_of(const DumpFile& file) {
  ReportPlace place;
  place.text = (file.boot ? "boot " + std::to_string(*file.boot) + ' ' : std::string()) + file.place;
  const std::size_t slash = file.place.rfind('/');
  if (slash == std::string::npos) return place;
  place.model = file.place.substr(0, slash);
  place.step = parse_decimal(std::string_view(file.place).substr(slash + 1));
  return place;
}

/// Numbers runs, operators and places in the order of execution.
class RunFinder {
 public:
  explicit RunFinder(ReportFacts& facts) : facts_(facts), side_(facts.dumps.mine()) {}

  void find() {
    std::map<OpKey, std::size_t> runs;
    for (std::size_t number = 0; number < side_.tensors.size(); ++number) {
      const DumpTensor& tensor = side_.tensors[number];
      const auto [at, is_new] =
          runs.emplace(key_of(side_.files[tensor.file], tensor.file), facts_.runs.size());
      if (is_new) add_run(tensor.file);
      facts_.runs[at->second].tensors.push_back(number);
      facts_.run_of.push_back(static_cast<std::uint32_t>(at->second));
    }
    for (ReportRun& run : facts_.runs) {
      std::stable_sort(run.tensors.begin(), run.tensors.end(), [this](std::size_t a, std::size_t b) {
        const DumpTensor& x = side_.tensors[a];
        const DumpTensor& y = side_.tensors[b];
        return std::tie(x.is_output, x.index) < std::tie(y.is_output, y.index);
      });
    }
  }

 private:
  using Place = std::tuple<std::optional<std::uint32_t>, std::string_view>;
  /// How often an operator of that type and name ran at a place before.
  using Turns = std::map<std::tuple<std::size_t, std::string_view, std::string_view>, std::size_t>;
  using Op = std::tuple<std::string, std::string_view, std::string_view, std::size_t>;

  void add_run(std::size_t number) {
    const DumpFile& file = side_.files[number];
    const auto [place, is_new] = places_.emplace(Place(file.boot, file.place), facts_.places.size());
    if (is_new) {
      facts_.has_boots |= file.boot.has_value();
      facts_.places.push_back(place_of(file));
    }
    const std::string& model = facts_.places[place->second].model;
    const std::size_t turn = turns_[{place->second, file.type, file.op}]++;
    const auto [op, is_other] = ops_.emplace(Op(model, file.type, file.op, turn), facts_.ops.size());
    if (is_other) facts_.ops.push_back({.name = file.op, .type = file.type, .model = model});
    facts_.runs.push_back({.op = op->second, .place = place->second, .file = number});
  }

  ReportFacts& facts_;
  const DumpSide& side_;
  std::map<Place, std::size_t> places_;
  Turns turns_;
  std::map<Op, std::size_t> ops_;
};

}  // namespace

void find_runs(ReportFacts& facts) {
  RunFinder(facts).find();
}

}  // namespace opdump::tool
