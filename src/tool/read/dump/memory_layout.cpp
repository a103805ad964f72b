#include "src/tool/read/dump/memory_layout.hpp"

namespace opdump::tool {

MemoryLayout memory_layout(const RecordTensor& tensor) {
  MemoryLayout layout;
  const bool four =
      tensor.format == Format::nchw || tensor.format == Format::nhwc || tensor.format == Format::hwcn;
  layout.format = four && tensor.rank != 4 ? Format::nd : tensor.format;
  layout.original_format = tensor.is_output ? tensor.original_format : Format::nd;
  if (tensor.sub_format > 1) layout.groups = static_cast<std::uint32_t>(tensor.sub_format);
  layout.original_shape.assign(tensor.original_shape().begin(), tensor.original_shape().end());
  return layout;
}

RelayoutRequest restoration(const MemoryLayout& layout, Shape shape, Format to, std::uint32_t item_bytes) {
  return {.from = layout.format,
          .to = to,
          .shape = shape,
          .logical = layout.original_shape,
          .logical_format = layout.original_format,
          .groups = layout.groups,
          .item_bytes = item_bytes};
}

}  // namespace opdump::tool
