#pragma once
#include <string>
#include <vector>

#include "src/tool/judge/compare/compare_pairing.hpp"

namespace opdump::tool {

/// Pairs tensors by the names of their operators; gives what becomes of each tensor of mine, in their order.
/// `used` becomes which golden tensors have a partner.
TensorPairs pair_by_name(const DumpSide& mine, const DumpSide& golden, const NameMap* names,
                         std::vector<bool>& used);

}  // namespace opdump::tool
