#pragma once
#include <vector>

#include "src/tool/judge/compare/compare_pairing.hpp"

namespace opdump::tool {

/// Pairs those of `pairs`, one for each tensor of mine, that have no partner: operators
/// whose names agree but for what runtimes add, then, between those that have partners, by the alignment of
/// both orders of execution. Pairs of operators that cannot be the same, as their shapes differ by more than
/// the order of dims, are undone. `used` tells which golden tensors have a partner. Reads the outputs that
/// are aligned.
void pair_by_alignment(const DumpSide& mine, const DumpSide& golden, TensorPairs& pairs,
                       std::vector<bool>& used);

}  // namespace opdump::tool
