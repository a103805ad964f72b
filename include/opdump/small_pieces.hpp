#pragma once
#include <cstddef>
#include <cstdint>

#include "opdump/byte_order.hpp"

namespace opdump {
inline namespace OPDUMP_NAMESPACE {

/// What OPDUMP_SMALL_CODE looks at in a tensor comes by here: `take(to, piece, bytes)` is given its elements
/// without padding, little-endian, from the stack and a few at a time. `invalid_tensor` for a tensor that
/// falls short of its shape; other errors are those of `memory.copy`.
template <class Memory>
[[nodiscard]] Status read_pieces(Memory& memory, const TensorView& tensor, void* to,
                                 void (*take)(void* to, const std::byte* piece, std::size_t bytes)) {
  constexpr std::uint32_t kPieceBytes = 64;
  std::uint64_t bytes = 0;
  if (!count_bytes(tensor.dtype, tensor.shape, bytes) || bytes > tensor.bytes) return Status::invalid_tensor;
  // Longer tensors cannot be captured.
  const std::uint32_t end = static_cast<std::uint32_t>(bytes);
  alignas(std::uint64_t) std::byte piece[kPieceBytes];
  for (std::uint32_t at = 0; at < end; at += kPieceBytes) {
    const std::uint32_t now = end - at < kPieceBytes ? end - at : kPieceBytes;
    const Status status = copy_elements(memory, tensor, at, {piece, now});
    if (status != Status::ok) return status;
    take(to, piece, now);
  }
  return Status::ok;
}

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump
