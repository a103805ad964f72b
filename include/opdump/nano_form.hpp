#pragma once
#include <cstdint>
#include <string_view>

#include "opdump/nano.hpp"
#include "opdump/originals.hpp"
#include "opdump/tensor.hpp"

namespace opdump {
inline namespace OPDUMP_NAMESPACE {

/// What a nano record says of a tensor where that is not the tensor's own field. Refers to the tensor.
struct NanoForm {
  DType dtype;
  Format format;
  Shape shape;
  Shape original_shape;
  std::string_view original_name;  ///< of an output
  std::uint32_t tlv_bytes;         ///< behind the fixed part
};

/// Whether the vendor's reader makes an array of the tensor's elements. UINT1 is read as 8 elements per byte.
inline bool is_nano_readable(const TensorView& tensor) {
  if (tensor.dtype != DType::uint1) return codes_of(tensor.dtype).nano_readable();
  // What the product of the dims leaves, though it may not fit.
  std::uint32_t count = 1;
  for (const Dim dim : tensor.shape) count *= static_cast<std::uint32_t>(dim);
  return count % 8 == 0;
}

/// The input or output of operator `op_name` as a nano record can hold it. A dtype that the vendor's reader
/// cannot load would cost the user every other tensor of the file, so such a tensor is written as UINT8 with
/// the number of its bytes as shape; its dims stay in the original shape and, for outputs, its dtype in the
/// original dtype.
inline NanoForm nano_form(const TensorView& tensor, bool is_output, const std::string_view& op_name) {
  NanoForm nano;  // field by field: GCC would clear the whole first
  nano.dtype = tensor.dtype;
  nano.format = tensor.format;
  nano.shape = tensor.shape;
  nano.original_shape = original_shape_of(tensor);
  nano.original_name = op_name;
  if (!is_nano_readable(tensor)) {
    nano.dtype = DType::uint8;
    nano.format = Format::nd;
    nano.shape = {&tensor.bytes, 1};
  }
  nano.tlv_bytes = 2 * kNanoTlvHeadBytes + static_cast<std::uint32_t>(nano.shape.size_bytes()) +
                   static_cast<std::uint32_t>(nano.original_shape.size_bytes());
  if (is_output) {
    if (!tensor.original_name.empty()) nano.original_name = tensor.original_name;
    nano.tlv_bytes += kNanoTlvHeadBytes + static_cast<std::uint32_t>(nano.original_name.size());
  }
  return nano;
}

/// Lengths in the head of a nano record, each for inputs and outputs.
struct NanoHeadSizes {
  std::uint32_t bytes[2] = {0, 0};  ///< of the records behind the counts in TLVs 4 and 5

  void add(const TensorView& tensor, bool is_output, const std::string_view& op_name) {
    bytes[is_output] +=
        (is_output ? kNanoOutputBytes : kNanoInputBytes) + nano_form(tensor, is_output, op_name).tlv_bytes;
  }

  /// What the head's first field says.
  std::uint32_t head_bytes() const { return 8 + 2 * kNanoListHeadBytes + bytes[0] + bytes[1]; }

  /// Bytes up to the first tensor byte.
  std::uint32_t file_bytes() const { return kNanoHeadLengthBytes + head_bytes(); }
};

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump
