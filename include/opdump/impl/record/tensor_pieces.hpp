#pragma once
#include <bit>
#include <cstddef>
#include <cstdint>

#include "opdump/base/bytes.hpp"
#include "opdump/base/status.hpp"
#include "opdump/port/device_copy.hpp"
#include "opdump/port/device_memory.hpp"
#include "opdump/types/dtype.hpp"
#include "opdump/types/tensor.hpp"

/// How a reduction reads a tensor.

namespace opdump {
inline namespace OPDUMP_NAMESPACE {

/// Bytes of the elements, without padding; all of a dtype whose elements have no known size. `tensor` is one
/// that a record may hold.
inline std::uint64_t own_bytes(const TensorView& tensor) {
  if (codes_of(tensor.dtype).bits == 0) return tensor.bytes;
  return packed_bytes(tensor.dtype, tensor.shape).value();
}

/// As `for_each_piece`, through memory of its own.
template <class Memory, class Take>
Status copy_each_piece(Memory& memory, const TensorView& tensor, std::uint64_t bytes, Take& take) {
  constexpr std::size_t kPieceBytes = 256;
  alignas(16) std::byte piece[kPieceBytes];
  for (std::uint64_t at = 0; at < bytes; at += kPieceBytes) {
    const std::uint64_t left = bytes - at;
    const std::size_t now = left < kPieceBytes ? static_cast<std::size_t>(left) : kPieceBytes;
    const Status status = copy_elements(memory, tensor, at, {piece, now});
    if (status != Status::ok) return status;
    take(Bytes(piece, now));
  }
  return Status::ok;
}

/// Hands on the first `bytes` bytes of the tensor, as a dump has them: all at once, where they need no copy.
template <class Memory, class Take>
Status for_each_piece(Memory& memory, const TensorView& tensor, std::uint64_t bytes, Take take) {
  constexpr bool kAsTheyLie = std::endian::native == std::endian::little;
  if (is_restored(tensor)) return copy_each_piece(memory, tensor, bytes, take);
  if constexpr (kAsTheyLie && ViewableMemory<Memory>) {
    const Bytes whole = memory.view(tensor.address, bytes);
    if (whole.size() != bytes) return copy_each_piece(memory, tensor, bytes, take);
    take(whole);
    return Status::ok;
  } else if constexpr (kAsTheyLie && MappingMemory<Memory>) {
    if (bytes == 0) return Status::ok;
    const Result<Bytes> whole = memory.map(tensor.address, bytes);
    if (!whole.ok()) return whole.status();
    take(whole.value());
    return memory.unmap(tensor.address, whole.value());
  } else {
    return copy_each_piece(memory, tensor, bytes, take);
  }
}

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump
