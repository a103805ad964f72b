#pragma once
#include "src/tool/judge/compare/compare_side.hpp"

namespace opdump::tool {

/// Brings the tensors of `side` into the order of execution. Files without a time stay where they were found,
/// behind those with one.
void sort_tensors(DumpSide& side);

}  // namespace opdump::tool
