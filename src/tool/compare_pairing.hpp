#pragma once
#include <cstddef>
#include <optional>
#include <vector>

#include "compare_side.hpp"

namespace opdump::tool {

/// A tensor of ours and the golden one it has to be like. One of them may be missing.
struct TensorPair {
  std::optional<std::size_t> mine;  ///< index in `DumpSide::tensors`
  std::optional<std::size_t> golden;
};

/// Pairs the tensors of two dumps, ours first and in their order, golden ones without partner behind. Tensors
/// go together by operator, role and index, and by model and step where both sides tell them; where an
/// operator ran several times, by its turn. An output that was not found so goes with the original operator's
/// output that its record names. A golden tensor without model and step serves for every step. Of two files,
/// each with one tensor, those go together whatever their names.
std::vector<TensorPair> pair_tensors(const DumpSide& mine, const DumpSide& golden);

}  // namespace opdump::tool
