#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/tool/judge/compare/compare_side.hpp"
#include "src/tool/judge/compare/name_map.hpp"

namespace opdump::tool {

/// How a pair came about.
enum class PairedBy : std::uint8_t { name, map, original_name, common_name, turn, alignment };

/// "name", "map", "original name", "common name", "turn" or "alignment".
std::string_view to_string(PairedBy by);

/// A tensor of ours and the golden tensor that it should equal. One of them may be missing.
struct TensorPair {
  std::optional<std::size_t> mine;  ///< number in `DumpSide::tensors`
  std::optional<std::size_t> golden;
  std::string remark{};  ///< a reason to doubt the pair; mostly empty
  PairedBy by = PairedBy::name;
};

using TensorPairs = std::vector<TensorPair>;

/// How tensors are paired other than by their names.
struct PairingOptions {
  const NameMap* names = nullptr;  ///< names of the golden operators; null: the same as ours
  bool by_order = false;           ///< operators are paired by their turn within a step, not by name
  bool align = false;              ///< what names leave over is paired by both orders of execution
};

/// Pairs the tensors of two dumps: ours first, in their order, then golden tensors without a partner. Tensors
/// are paired by operator, role and index, and by model and step if both sides know them; if each side has
/// only one model, by step alone. A name that is not found in this way may match as frameworks write it in
/// file names, or, for an output, as the original operator's name in a record of either side. Tensors of the
/// same name are paired by equal task, type and shape, then by type and shape, then by shape, then by their
/// turn. A golden tensor without model and step serves for every step. Of two files with one operator each
/// tensors are paired by role and index, and if there is one tensor in each, always.
TensorPairs pair_tensors(const DumpSide& mine, const DumpSide& golden, const PairingOptions& options);

}  // namespace opdump::tool
