#include "src/tool/page/isolated_errors.hpp"

#include <algorithm>
#include <cmath>

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

}  // namespace opdump::tool
