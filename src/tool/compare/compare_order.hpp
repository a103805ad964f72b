#pragma once
#include <optional>
#include <string>
#include <vector>

#include "opdump/impl/format/relayout.hpp"
#include "src/tool/compare/compare_side.hpp"

namespace opdump::tool {

/// One side's elements in the order in which both sides are compared.
struct ElementOrder {
  std::optional<Relayout> relayout;  ///< nothing: the elements stay as they lie
  std::vector<Dim> shape;
};

/// How two tensors are laid side by side.
struct PairOrder {
  ElementOrder mine;
  ElementOrder golden;
  std::uint64_t elements = 0;
  std::string problem;  ///< why they cannot be compared; empty: they can
  std::string remark;   ///< what else to know about the comparison
};

/// Takes both tensors out of their device formats, without padding, and brings ours into the order of the
/// golden one. If only one tensor's format is known, that tensor follows the shape of the other. Dims of 1 do
/// not matter, as in rank 0 against (1,). Two tensors of the same shape in a device format that cannot be
/// restored are compared as they lie.
PairOrder order_pair(const DumpTensor& mine, const DumpTensor& golden);

}  // namespace opdump::tool
