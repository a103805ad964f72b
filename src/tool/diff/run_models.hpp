#pragma once
#include <string>

#include "src/tool/diff/run_table.hpp"

namespace opdump::tool {

/// Whether each run has a model that the first one has too, and models of one name are of one file, as far as
/// that is told. Runs that tell no model have every one. On false `error` names both.
bool have_common_model(const RunTable& table, std::string& error);

}  // namespace opdump::tool
