#pragma once
#include <cstddef>
#include <cstring>
#include <new>
#include <string_view>

#include "opdump/record_layout.hpp"
#include "opdump/record_source.hpp"
#include "opdump/tensor.hpp"

namespace opdump {
inline namespace OPDUMP_NAMESPACE {

/// Where the dims at `at` end if they are those of `shape`; else null.
[[gnu::always_inline]] inline const std::byte* past_dims(const std::byte* at, Shape shape) {
  const Dim* const known = std::launder(reinterpret_cast<const Dim*>(at));
  const Dim* const dims = shape.data();
  std::size_t left = shape.size();
  if ((left & 1) != 0) {
    --left;
    if (known[left] != dims[left]) return nullptr;
  }
  for (; left != 0; left -= 2) {
    if (((known[left - 1] ^ dims[left - 1]) | (known[left - 2] ^ dims[left - 2])) != 0) return nullptr;
  }
  return at + shape.size_bytes();
}

/// The same of the original dims and the original name, with whether the head says the other originals.
[[gnu::noinline]] inline const std::byte* past_originals(const std::byte* at, const TensorHead& head,
                                                         const TensorView& tensor) {
  const std::string_view name = tensor.original_name;
  if (head.original_dtype != tensor.original_dtype ||
      head.original_format != static_cast<std::int32_t>(tensor.original_format) ||
      head.original_index != tensor.original_index || head.original_rank != tensor.original_shape.size() ||
      head.original_name_bytes != name.size())
    return nullptr;
  at = past_dims(at, tensor.original_shape);
  if (at == nullptr || name.empty()) return at;
  return std::memcmp(at, name.data(), name.size()) == 0 ? at + padded_bytes(name.size()) : nullptr;
}

/// Where what a head says of a tensor at `at`, which is 8-byte aligned, ends if it is what `tensor` is in all
/// but its address; else null.
[[gnu::always_inline]] inline const std::byte* past_tensor(const std::byte* at, const TensorView& tensor) {
  const TensorHead& head = *std::launder(reinterpret_cast<const TensorHead*>(at));
  if (head.bytes != tensor.bytes || head.dtype != tensor.dtype || head.rank != tensor.shape.size() ||
      head.format != static_cast<std::int32_t>(tensor.format) ||
      head.address_kind != static_cast<std::uint32_t>(tensor.address_kind))
    return nullptr;
  at = past_dims(at + sizeof head, tensor.shape);
  if (at == nullptr) return nullptr;
  if (has_originals(tensor)) return past_originals(at, head, tensor);
  return head.has_originals == 0 ? at : nullptr;
}

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump
