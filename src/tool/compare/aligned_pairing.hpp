#pragma once
#include <vector>

#include "src/tool/compare/compare_pairing.hpp"

namespace opdump::tool {

/// Pairs what `pairs`, one for each tensor of mine, leaves without a partner: operators whose names agree but
/// for what runtimes add, then, between those that have partners, by the alignment of both orders of
/// execution. Pairs of operators that cannot be the same, as their shapes differ by more than the order of
/// dims, are undone. `used` tells which golden tensors have a partner. Reads the outputs that are aligned.
void pair_by_alignment(const DumpSide& mine, const DumpSide& golden, std::vector<TensorPair>& pairs,
                       std::vector<bool>& used);

}  // namespace opdump::tool
