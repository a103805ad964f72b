#pragma once
#include <string>

#include "src/tool/page/report_facts.hpp"

namespace opdump::tool {

/// Fills places, ops, runs and run_of from the tensors of mine. Shows its progress on a terminal. What is
/// wrong with the temporary file; else empty.
std::string find_runs(ReportFacts& facts);

}  // namespace opdump::tool
