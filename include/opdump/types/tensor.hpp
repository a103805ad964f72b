#pragma once
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string_view>
#include <type_traits>

#include "opdump/base/build.hpp"
#include "opdump/base/status.hpp"
#include "opdump/types/dtype.hpp"
#include "opdump/types/format.hpp"

namespace opdump {
inline namespace OPDUMP_NAMESPACE {

/// One extent of a tensor, in elements.
using Dim = std::uint64_t;

inline constexpr std::size_t kMaxRank = 32;

/// A tensor's dims, outermost first; none for a scalar. It refers to the dims and does not copy them: they
/// must stay as long as the Shape is used (in firmware they usually are constants in flash).
using Shape = std::span<const Dim>;

/// The largest number of elements. 64-bit products cost a microcontroller code.
using ElementCount = std::conditional_t<build::kLean, std::uint32_t, std::uint64_t>;

/// Sets `count` to the elements of `shape`: 1 for a scalar, 0 when a dim is 0. False past `ElementCount`.
constexpr bool count_elements(const Shape& shape, ElementCount& count) {
  ElementCount product = 1;
  bool fits = true;
  for (const Dim dim : shape) {
    const ElementCount factor = static_cast<ElementCount>(dim);
    count = 0;
    if (dim == 0) return true;
    fits &= factor == dim && !__builtin_mul_overflow(product, factor, &product);
  }
  count = product;
  return fits;
}

/// The same; `too_large` past `ElementCount`.
constexpr Result<std::uint64_t> element_count(Shape shape) {
  ElementCount count = 0;
  if (!count_elements(shape, count)) return Status::too_large;
  return std::uint64_t{count};
}

/// An address in the memory that the session's DeviceMemory understands: a pointer for host memory, a device
/// address or a driver's handle elsewhere.
using Address = std::uint64_t;

inline Address address_of(const void* pointer) {
  return reinterpret_cast<std::uintptr_t>(pointer);
}

/// Kind of address a tensor has on CANN's nano device; copied into the record, not used.
enum class AddressKind : std::int32_t {
  traditional = 0,
  no_tiling = 1,
  raw = 2,
  nano_io = 3,
  nano_weight = 4,
  nano_workspace = 5,

  // Not CANN's. What a record of an operator that failed has behind its outputs; see ExceptionCapture.
  workspace = 0x100,
  attribute_name = 0x101,   ///< the text is the original name, whose length is the address; no bytes
  attribute_value = 0x102,  ///< likewise
};

/// Whether `kind` is an input or an output, and no other part of an operator.
constexpr bool is_tensor(AddressKind kind) {
  return kind < AddressKind::workspace;
}

class RestoredElements;

/// One tensor as it lies in memory when its operator has run. Refers to everything and copies nothing; it
/// need only live during the call that takes it. Its elements lie one behind the other: formats of dumps have
/// no strides, so of a view with gaps the caller hands over a dense copy, or the range that it lies in.
/// Blocks of quantised elements with their scales, as in ggml, have no code in any format: they are given as
/// uint8, with the shape in bytes and the original shape in elements.
struct TensorView {
  Address address = 0;
  std::uint64_t bytes =
      0;  ///< bytes to capture; may exceed what the shape needs (padding), never fall short of it
  DType dtype = DType::undefined;
  Format format = Format::nd;
  Shape shape{};

  /// Dims in the framework, in the axis order of the framework's format. Empty: the same as `shape`.
  Shape original_shape{};

  /// What follows is written for outputs only, as the record format has it.
  /// Operator of the framework that this output stems from, and which of its outputs.
  std::string_view original_name{};
  std::int32_t original_index = 0;
  DType original_dtype = DType::undefined;    ///< undefined: the same as `dtype`
  Format original_format = Format::reserved;  ///< reserved: the same as `format`
  AddressKind address_kind = AddressKind::traditional;

#if OPDUMP_SMALL_CODE == 0  // Not a Maybe: a braced list would clear the whole TensorView first.
  /// A recorder's own, set by its Restorer: how the elements are copied. Null: as they lie.
  RestoredElements* restored = nullptr;
#endif
};

/// What copies the elements of a restored tensor; null where they lie as they are.
template <class Tensor>
constexpr RestoredElements* restored_elements(const Tensor& tensor) {
  if constexpr (build::kLean) {
    return nullptr;
  } else {
    return tensor.restored;
  }
}

template <class Tensor>
constexpr void set_restored_elements(Tensor& tensor, RestoredElements* elements) {
  if constexpr (!build::kLean) tensor.restored = elements;
}

constexpr bool is_restored(const TensorView& tensor) {
  return restored_elements(tensor) != nullptr;
}

/// The sum of the bytes of an operator's tensors, which limits what can be captured.
using DataBytes = ElementCount;

/// The tensors that are captured of one operator: inputs in order, then outputs in order.
struct CapturedTensors {
  std::span<const TensorView> inputs{};
  std::span<const TensorView> outputs{};

  const std::span<const TensorView>& list(bool is_output) const { return is_output ? outputs : inputs; }

  std::size_t size() const { return inputs.size() + outputs.size(); }
  const TensorView& operator[](std::size_t i) const {
    return i < inputs.size() ? inputs[i] : outputs[i - inputs.size()];
  }

  /// Whether `use(tensor)` is true for each tensor; it is not called again once it is false.
  template <class Use>
  [[gnu::always_inline]] bool all(Use use) const {
    const TensorView* at = inputs.data();
    for (std::size_t left = size(); left != 0; --left, ++at) {
      if (left == outputs.size()) at = outputs.data();
      if (!use(*at)) return false;
    }
    return true;
  }

  /// Calls `use(tensor, is_output, index)` for each tensor.
  template <class Use>
  void for_each_tensor(Use use) const {
    for (std::size_t i = 0; i < size(); ++i) {
      const bool is_output = i >= inputs.size();
      use((*this)[i], is_output, static_cast<std::uint32_t>(is_output ? i - inputs.size() : i));
    }
  }
};

/// Sets `bytes` to the size of `shape` elements of `dtype`, packed; sub-byte dtypes are rounded up to a whole
/// byte. 0 for dtypes whose elements have no fixed size. False past 64 bits and past `ElementCount`.
constexpr bool count_bytes(DType dtype, const Shape& shape, std::uint64_t& bytes) {
  ElementCount count = 0;
  if (!count_elements(shape, count)) return false;
  std::uint64_t bits = 0;
  if (__builtin_mul_overflow(std::uint64_t{count}, std::uint64_t{codes_of(dtype).bits}, &bits) ||
      bits > std::numeric_limits<std::uint64_t>::max() - 7)
    return false;
  bytes = (bits + 7) / 8;
  return true;
}

/// The same; `too_large` past what can be counted.
constexpr Result<std::uint64_t> packed_bytes(DType dtype, Shape shape) {
  std::uint64_t bytes = 0;
  if (!count_bytes(dtype, shape, bytes)) return Status::too_large;
  return bytes;
}

/// What a tensor was in the framework; if the runtime left that out, what the tensor is on the device.
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
