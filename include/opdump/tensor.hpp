#pragma once
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string_view>

#include "opdump/dtype.hpp"
#include "opdump/format.hpp"
#include "opdump/knobs.hpp"
#include "opdump/shape.hpp"

namespace opdump {
inline namespace OPDUMP_NAMESPACE {

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

/// Whether it is an input or output that is meant, and no other part of an operator.
constexpr bool is_tensor(AddressKind kind) {
  return kind < AddressKind::workspace;
}

class RestoredElements;

/// One tensor as it lies in memory when its operator has run. Everything is referred to, nothing copied; it
/// need only live during the call that takes it.
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

#if OPDUMP_SMALL_CODE == 0
  /// A recorder's own, set by its Restorer: how the elements are copied. Null: as they lie.
  RestoredElements* restored = nullptr;
#endif
};

constexpr bool is_restored([[maybe_unused]] const TensorView& tensor) {
#if OPDUMP_SMALL_CODE == 0
  return tensor.restored != nullptr;
#else
  return false;
#endif
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

  /// Whether `use(tensor)` is true of each; it is not called any more once it is false.
  template <class Use>
  [[gnu::always_inline]] bool all(Use use) const {
    const TensorView* at = inputs.data();
    for (std::size_t left = size(); left != 0; --left, ++at) {
      if (left == outputs.size()) at = outputs.data();
      if (!use(*at)) return false;
    }
    return true;
  }

  /// Calls `use(tensor, is_output, index)` for each.
  template <class Use>
  void for_each_tensor(Use use) const {
    for (std::size_t i = 0; i < size(); ++i) {
      const bool is_output = i >= inputs.size();
      use((*this)[i], is_output, static_cast<std::uint32_t>(is_output ? i - inputs.size() : i));
    }
  }
};

/// Sets `bytes` to those that `shape` elements of `dtype` fill, packed; sub-byte dtypes are rounded up to a
/// whole byte. 0 for dtypes whose elements have no fixed size. False past 64 bits and past `ElementCount`.
constexpr bool count_bytes(DType dtype, Shape shape, std::uint64_t& bytes) {
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

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump
