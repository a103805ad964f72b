#pragma once
#include <optional>
#include <string>
#include <vector>

#include "opdump/format/relayout.hpp"
#include "opdump/types/format.hpp"
#include "src/tool/judge/compare/compare_side.hpp"

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

/// What two tensors that tell no format are taken as.
struct AssumedFormats {
  Format mine = Format::nd;
  Format golden = Format::nd;

  bool operator==(const AssumedFormats&) const = default;
};

/// The formats in which the dims of one are those of the other, of two tensors of 4 dims that tell no format
/// and whose shapes differ; nothing where there are none.
std::optional<AssumedFormats> assumed_formats(const DumpTensor& mine, const DumpTensor& golden);

/// Whether the dims of two tensors of one shape that tell no format show that both are of one format.
bool keeps_order(const DumpTensor& mine, const DumpTensor& golden);

/// Takes both tensors out of their device formats, without padding, and brings ours into the order of the
/// golden one. If only one tensor's format is known, that tensor follows the shape of the other. Dims of 1 do
/// not matter, as in rank 0 against (1,). Two tensors of the same shape in a device format that cannot be
/// restored are compared as they lie. Of tensors that tell no format and whose shapes differ,
/// `assumed_formats` are taken; `usual` where the shapes do not tell them apart.
PairOrder order_pair(const DumpTensor& mine, const DumpTensor& golden,
                     const std::optional<AssumedFormats>& usual = std::nullopt);

/// Takes a tensor out of its device format, and a plain one of 4 dims into NCHW, where its format is known;
/// nothing where its elements do not fill the format.
std::optional<ElementOrder> plain_order(const DumpTensor& tensor);

}  // namespace opdump::tool
