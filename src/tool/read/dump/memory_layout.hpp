#pragma once
#include <cstdint>
#include <vector>

#include "opdump/impl/format/relayout.hpp"
#include "opdump/read/record_tensor.hpp"

namespace opdump::tool {

/// What a record says about how a tensor's elements lie in memory.
struct MemoryLayout {
  Format format = Format::nd;
  Format original_format = Format::nd;
  std::uint32_t groups = 1;         ///< of a convolution's weights
  std::vector<Dim> original_shape;  ///< without padding; empty: not known
};

/// The layout of `tensor`; ND if the tensor lacks the four dims of its format.
MemoryLayout memory_layout(const RecordTensor& tensor);

/// The request for a Relayout that brings a tensor into the format `to`. Refers to `layout` and `shape`.
RelayoutRequest restoration(const MemoryLayout& layout, Shape shape, Format to, std::uint32_t item_bytes);

}  // namespace opdump::tool
