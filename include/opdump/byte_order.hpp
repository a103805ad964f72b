#pragma once
#include <algorithm>
#include <bit>

#include "opdump/bytes.hpp"
#include "opdump/device_memory.hpp"
#include "opdump/restorer.hpp"
#include "opdump/tensor.hpp"

namespace opdump {
inline namespace OPDUMP_NAMESPACE {

/// Bytes of a number inside an element of `dtype`: the two parts of a complex element are numbers of their
/// own. 1 where bytes have no order: bytes, elements below a byte, texts.
constexpr std::size_t number_bytes(DType dtype) {
  switch (dtype) {
    case DType::complex32:
    case DType::complex64:
    case DType::complex128:
      return codes_of(dtype).bits / 16u;
    default:
      const std::size_t bits = codes_of(dtype).bits;
      return bits == 16 || bits == 32 || bits == 64 ? bits / 8 : 1;
  }
}

/// Turns elements that lie in `bytes` in this machine's byte order into little-endian ones. Bytes after the
/// last whole number stay as they are. Nothing to do on a little-endian machine.
inline void to_little_endian(MutableBytes bytes, DType dtype) {
  if constexpr (std::endian::native == std::endian::big) {
    const std::size_t width = number_bytes(dtype);
    if (width == 1) return;
    for (; bytes.size() >= width; bytes = bytes.subspan(width))
      std::reverse(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(width));
  }
}

/// Copies all of `to` from `from` on, in pieces that the backend takes. Errors are those of `memory.copy`.
template <class Memory>
[[nodiscard]] Status copy_pieces(Memory& memory, Address from, MutableBytes to) {
  if constexpr (RuledMemory<Memory>) {
    const std::size_t most = memory.copy_rules().max_bytes;
    while (to.size() > most) {
      const Status status = memory.copy(to.data(), from, most);
      if (status != Status::ok) return status;
      to = to.subspan(most);
      from += most;
    }
  }
  return memory.copy(to.data(), from, to.size());
}

#if OPDUMP_SMALL_CODE == 0
/// As `copy_elements`, of a restored tensor.
[[nodiscard, gnu::noinline]] inline Status copy_restored(const TensorView& tensor, std::uint64_t at,
                                                         std::byte* to, std::size_t bytes) {
  return tensor.restored->copy(tensor, at, {to, bytes});
}
#endif

/// Copies `to.size()` bytes of `tensor`, from its byte `at` on, which begins an element, and makes them
/// little-endian. Errors are those of `memory.copy`.
template <class Memory>
[[nodiscard, gnu::always_inline]] inline Status copy_elements(Memory& memory, const TensorView& tensor,
                                                              std::uint64_t at, MutableBytes to) {
#if OPDUMP_SMALL_CODE == 0
  if (is_restored(tensor)) return copy_restored(tensor, at, to.data(), to.size());
#endif
  const Status status = copy_pieces(memory, tensor.address + at, to);
  if (status == Status::ok) to_little_endian(to, tensor.dtype);
  return status;
}

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump
