#pragma once
#include "src/tool/page/report_facts.hpp"

namespace opdump::tool {

/// Fills places, ops, runs and run_of from the tensors of mine.
void find_runs(ReportFacts& facts);

}  // namespace opdump::tool
