#include "src/tool/report/isolated_errors.hpp"

#include <algorithm>
#include <cmath>

#include "src/tool/diverge/diverge_report.hpp"
#include "src/tool/diverge/native_reference.hpp"

namespace opdump::tool {

void add_isolated_errors(const ReplayModel& model, ReportFacts& facts) {
  constexpr std::size_t kMostReasons = 500;
  const DumpSide& side = facts.dumps.stored();
  NativeReference reference;
  const OpLimits limits;
  const StepList all_steps;
  std::vector<std::string> errors;  // of folders for operators that fail, of which there are none
  const std::vector<ReplayedOp> ops = replay_ops({.side = side,
                                                  .model = model,
                                                  .reference = reference,
                                                  .limits = limits,
                                                  .steps = all_steps,
                                                  .golden = nullptr,
                                                  .failing_directory = {}},
                                                 errors);
  const DivergeReport report = {side, ops, nullptr, reference.name()};
  facts.recomputed = report.counts_text();
  const ReplayedOp* const first = report.first_diverging();
  if (first != nullptr) facts.own_fault = report.first_text(*first);
  const std::map<std::size_t, std::size_t> runs = facts.runs_by_file();
  std::size_t told = 0;
  for (const ReplayedOp& op : ops) {
    const auto at = runs.find(op.file);
    if (at == runs.end()) continue;
    ReportRun& run = facts.runs[at->second];
    run.is_own_fault = op.verdict == ReplayVerdict::culprit;
    for (const ReplayedOutput& output : op.outputs)
      run.isolated =
          std::isnan(run.isolated) ? output.error.euclid : std::max(run.isolated, output.error.euclid);
    if (run.is_own_fault || told++ < kMostReasons) facts.replayed[at->second] = report.evidence_of(op);
    if (&op == first && !facts.first) facts.first = at->second;
  }
}

}  // namespace opdump::tool
