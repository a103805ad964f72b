#pragma once
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "src/tool/compare/compare_side.hpp"
#include "src/tool/compare/name_map.hpp"

namespace opdump::tool {

/// A tensor of ours and the golden one it has to be like. One of them may be missing.
struct TensorPair {
  std::optional<std::size_t> mine;  ///< index in `DumpSide::tensors`
  std::optional<std::size_t> golden;
  std::string remark{};  ///< what speaks against the pair; mostly empty
};

/// How tensors find each other besides by their names.
struct PairingOptions {
  const NameMap* names = nullptr;  ///< what golden operators are called; null: as ours
  bool by_order = false;           ///< operators go together by their turn within a step, whatever their names
};

/// Pairs the tensors of two dumps, ours first and in their order, golden ones without partner behind. Tensors
/// go together by operator, role and index, and by model and step where both sides tell them; where each side
/// has one model, by step alone. A name that is not found so may be as frameworks write it in file names, and
/// an output may have the name of the original operator that a record of either side tells. Where several
/// have one name, those go together whose task, type and shape are the same, then type and shape, then shape,
/// then by their turn. A golden tensor without model and step serves for every step. Of two files, each with
/// one tensor, those go together whatever their names.
std::vector<TensorPair> pair_tensors(const DumpSide& mine, const DumpSide& golden,
                                     const PairingOptions& options = {});

}  // namespace opdump::tool
