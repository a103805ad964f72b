#pragma once
#include <cstdint>
#include <string_view>

#include "opdump/tensor.hpp"

namespace opdump {
inline namespace OPDUMP_NAMESPACE {

/// What a tensor was in the framework; where the runtime left it out, what it is on the device.
constexpr Shape original_shape_of(const TensorView& tensor) {
  return tensor.original_shape.empty() ? tensor.shape : tensor.original_shape;
}
constexpr DType original_dtype_of(const TensorView& tensor) {
  return tensor.original_dtype == DType::undefined ? tensor.dtype : tensor.original_dtype;
}
constexpr Format original_format_of(const TensorView& tensor) {
  return tensor.original_format == Format::reserved ? tensor.format : tensor.original_format;
}
constexpr std::string_view original_name_of(const TensorView& tensor, std::string_view op_name) {
  return tensor.original_name.empty() ? op_name : tensor.original_name;
}
constexpr std::int32_t original_index_of(const TensorView& tensor, std::uint32_t index) {
  return tensor.original_name.empty() ? static_cast<std::int32_t>(index) : tensor.original_index;
}

/// Fills them in.
constexpr void fill_in_originals(TensorView& tensor, std::string_view op_name, std::uint32_t index) {
  tensor.original_shape = original_shape_of(tensor);
  tensor.original_dtype = original_dtype_of(tensor);
  tensor.original_format = original_format_of(tensor);
  tensor.original_index = original_index_of(tensor, index);
  tensor.original_name = original_name_of(tensor, op_name);
}

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump
