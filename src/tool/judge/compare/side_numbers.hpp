#pragma once
#include <functional>
#include <span>

#include "src/tool/judge/compare/compare_side.hpp"

namespace opdump::tool {

/// Calls `use` for all elements of a tensor in the order in which they lie; false when they cannot be read.
bool for_each_number(const DumpSide& side, const DumpTensor& tensor,
                     const std::function<void(std::span<const double>)>& use);

}  // namespace opdump::tool
