#pragma once
#include <string>
#include <vector>

#include "src/tool/judge/diff/run_table.hpp"

namespace opdump::tool {

/// Whether each run has a model that the first one has too, and models of one name are of one file, as far as
/// that is told. Runs that tell no model have every one. On false `error` names both.
bool have_common_model(const RunTable& table, std::string& error);

/// What else, of where the runs come from, is not as for the first one: builds, configs, runtimes, versions.
std::vector<std::string> unlike_runs(const RunTable& table);

}  // namespace opdump::tool
