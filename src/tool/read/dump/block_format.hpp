#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "opdump/format/relayout.hpp"
#include "opdump/read/record_tensor.hpp"
#include "opdump/types/tensor.hpp"
#include "src/card/quantisation.hpp"

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

/// A format of blocks that hold their own scales.
struct BlockFormat {
  static constexpr std::size_t kMostElements = 256;
  static constexpr std::size_t kMostBytes = 256;

  std::string_view type;
  std::uint32_t elements;
  std::uint32_t bytes;
  /// Reads the `bytes` bytes of a block into `elements` floats.
  void (*decode)(const std::byte* block, float* to);
};

/// The format of a quantisation by blocks; null: it is none, or a format that is not known, or the sizes that
/// the card gives are others. Source: the block types of ggml.
const BlockFormat* block_format(const cards::Quantisation& quant);

/// The shape of what a tensor of `bytes` bytes in such blocks stands for: `original` if that is its size,
/// else `shape`, whose last dim counts bytes. Nothing when the blocks do not fill either.
std::optional<std::vector<Dim>> shape_of_blocks(const BlockFormat& format, std::uint64_t bytes, Shape shape,
                                                Shape original);

}  // namespace opdump::tool
