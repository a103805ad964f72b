#pragma once
#include <cstdint>
#include <string_view>

#include "opdump/base/build.hpp"
#include "opdump/base/status.hpp"
#include "opdump/types/tensor.hpp"

namespace opdump {
inline namespace OPDUMP_NAMESPACE {

/// What is wrong with a tensor as the runtime describes it.
enum class TensorFault : std::uint8_t {
  none,
  too_many_dims,  ///< more than `kMaxRank`
  no_dtype,       ///< no value of DType, or `undefined` though there are bytes
  uncountable,    ///< its elements cannot be counted: a dim is negative, or all together are too many
  too_few_bytes,  ///< fewer than dtype and shape ask for
  too_large,      ///< together with the operator's other tensors
  /// Far more bytes than dtype and shape ask for: another dtype may be meant, or a shape is missing. The
  /// tensor is captured as it is.
  spare_bytes,
  /// Statistics of it are asked for, and its dtype has none in a table. Where arrays are asked for, they come.
  no_statistics,
};

/// Sets `needed` to the bytes that dtype and shape ask for, 0 when that is not known. `bare_bytes`: a tensor
/// of `undefined` dtype may have bytes.
constexpr TensorFault fault_of(const TensorView& tensor, std::uint64_t& needed, bool bare_bytes = false) {
  needed = 0;
  if (tensor.shape.size() > kMaxRank || tensor.original_shape.size() > kMaxRank)
    return TensorFault::too_many_dims;
  if (!is_known(tensor.dtype) || !is_known(tensor.original_dtype)) return TensorFault::no_dtype;
  if (tensor.dtype == DType::undefined && tensor.bytes != 0 && !bare_bytes) return TensorFault::no_dtype;
  if (!count_bytes(tensor.dtype, tensor.shape, needed)) return TensorFault::uncountable;
  return tensor.bytes < needed ? TensorFault::too_few_bytes : TensorFault::none;
}

/// What a record is lost as because of `fault`, which is one.
constexpr Status status_of(TensorFault fault) {
  // Small code does not tell them apart.
  if (build::kLean || fault == TensorFault::too_few_bytes) return Status::invalid_tensor;
  if (fault == TensorFault::too_many_dims) return Status::too_many_dims;
  if (fault == TensorFault::no_dtype) return Status::unknown_dtype;
  return fault == TensorFault::uncountable ? Status::uncountable_shape : Status::unrecordable;
}

/// Whether a tensor without a fault has `spare_bytes`: at least twice the bytes needed, and more than any
/// padding of a few elements, unless it has no dims: then its shape may be forgotten. A dtype whose elements
/// have no fixed size never has.
constexpr bool has_spare_bytes(const TensorView& tensor, std::uint64_t needed) {
  constexpr std::uint64_t kPadding = 64;
  return codes_of(tensor.dtype).bits != 0 && needed != 0 && tensor.bytes - needed >= needed &&
         (tensor.bytes - needed > kPadding || tensor.shape.empty());
}

/// A tensor with a fault, and the operator that it belongs to. Refers to everything, for the time of the call.
struct FaultyTensor {
  TensorFault fault = TensorFault::none;
  bool is_output = false;
  std::uint32_t index = 0;   ///< among the operator's inputs or outputs
  std::string_view model{};  ///< empty: the operator ran outside any
  std::string_view op{};
  std::uint64_t step = 0;
  const TensorView* tensor = nullptr;
  std::uint64_t needed = 0;  ///< bytes that dtype and shape ask for; 0: not known
};

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump
