#pragma once
#include <cstddef>
#include <optional>
#include <vector>

#include "src/tool/judge/diverge/ort_reference.hpp"
#include "src/tool/judge/diverge/replay_model.hpp"
#include "src/tool/page/report_facts.hpp"

namespace opdump::tool {

/// What `opdump diverge` says of a run.
struct IsolatedError {
  double error = TensorFacts::kUnknown;  ///< the greatest of its outputs
  bool is_own_fault = false;             ///< that is more than it may be
};

/// Recomputes each run by `reference` from its own inputs, as `opdump diverge` does: the errors by the numbers
/// of the runs. `first` becomes the first run that is off by itself. Fills replayed, recomputed and own_fault.
/// Needs DumpComparison::stored. Holds what came of all runs in memory. Shows its progress on a terminal. Ends
/// early when interrupted.
std::vector<IsolatedError> find_isolated_errors(const ReplayModel& model, OpReference& reference,
                                                ReportFacts& facts, std::optional<std::size_t>& first);

/// Fills places, ops, runs and run_of from the tensors of mine.
void find_runs(ReportFacts& facts);

}  // namespace opdump::tool
