#pragma once
#include <optional>

#include "src/tool/judge/compare/compare_side.hpp"
#include "src/tool/judge/compare/op_alignment.hpp"

namespace opdump::tool {

/// Reads all elements of a tensor; of quantised ones with one scale the real values count. Nothing when none
/// is finite, or when they cannot be read.
std::optional<ValueRange> value_range(const DumpSide& side, const DumpTensor& tensor);

}  // namespace opdump::tool
