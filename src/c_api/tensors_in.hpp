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

/// Whether C may name that kind of address; others mark parts of a record that are no tensors.
inline bool is_address_kind(std::int32_t kind) {
  return kind >= 0 && kind <= static_cast<std::int32_t>(AddressKind::nano_workspace);
}

/// Makes a view of `tensor` at `at`; not `ok` when none can say the same.
inline Status put_view(const opdump_tensor& tensor, TensorView* at) {
  if (!is_dtype(tensor.dtype)) return status_of(TensorFault::no_dtype);
  if (!is_address_kind(tensor.address_kind)) return Status::invalid_tensor;
  if (tensor.rank != 0 && tensor.shape == nullptr) return kMissing;
  TensorView& view = *::new (at) TensorView{.address = tensor.address,
                                            .bytes = tensor.bytes,
                                            .dtype = static_cast<DType>(tensor.dtype),
                                            .format = static_cast<Format>(tensor.format),
                                            .shape = {tensor.shape, tensor.rank},
                                            .address_kind = static_cast<AddressKind>(tensor.address_kind)};
  const opdump_original* const original = tensor.original;
  if (original == nullptr) return Status::ok;
  if (!is_dtype(original->dtype)) return status_of(TensorFault::no_dtype);
  if (original->rank != 0 && original->shape == nullptr) return kMissing;
  view.original_shape = {original->shape, original->rank};
  take_text(original->name, view.original_name);
  view.original_index = original->index;
  view.original_dtype = static_cast<DType>(original->dtype);
  view.original_format = static_cast<Format>(original->format);
  return Status::ok;
}

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::c_api
