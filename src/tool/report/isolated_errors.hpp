#pragma once
#include "src/tool/diverge/replay_model.hpp"
#include "src/tool/report/report_facts.hpp"

namespace opdump::tool {

/// Recomputes each run from its own inputs, as `opdump diverge` does, and adds what is off to the runs. Needs
/// DumpComparison::stored. Shows its progress on a terminal. Ends early when interrupted.
void add_isolated_errors(const ReplayModel& model, ReportFacts& facts);

}  // namespace opdump::tool
