#pragma once
#include <cstdint>

#include "opdump/opdump.h"
#include "opdump/types/dtype.hpp"
#include "opdump/types/faulty_tensor.hpp"
#include "opdump/types/tensor.hpp"
#include "src/c_api/c_port.hpp"

namespace opdump::c_api {
inline namespace OPDUMP_NAMESPACE {

/// The status of a list or report that is not there. Small code has one for all that cannot be handed on.
inline constexpr Status kMissing = build::kLean ? Status::invalid_tensor : Status::missing_argument;

inline bool is_dtype(std::int32_t dtype) {
  return dtype >= 0 && dtype < kKnownDTypes;
}

/// Whether a TensorView can say the same as `tensor`.
inline Status check(const opdump_tensor& tensor) {
  const opdump_original* const original = tensor.original;
  if (!is_dtype(tensor.dtype) || (original != nullptr && !is_dtype(original->dtype)))
    return status_of(TensorFault::no_dtype);
  const bool has_shapes = (tensor.rank == 0 || tensor.shape != nullptr) &&
                          (original == nullptr || original->rank == 0 || original->shape != nullptr);
  if (has_shapes) return Status::ok;
  return kMissing;
}

/// Makes `view`, which says nothing yet, that of `tensor`.
inline void put_view(const opdump_tensor& tensor, TensorView& view) {
  view.address = tensor.address;
  view.bytes = tensor.bytes;
  view.dtype = static_cast<DType>(tensor.dtype);
  view.format = static_cast<Format>(tensor.format);
  view.shape = {tensor.shape, tensor.rank};
  view.address_kind = static_cast<AddressKind>(tensor.address_kind);
  if (const opdump_original* original = tensor.original) {
    view.original_shape = {original->shape, original->rank};
    view.original_name = text_of(original->name);
    view.original_index = original->index;
    view.original_dtype = static_cast<DType>(original->dtype);
    view.original_format = static_cast<Format>(original->format);
  }
}

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::c_api
