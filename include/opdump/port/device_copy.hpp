#pragma once
#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "opdump/base/build.hpp"
#include "opdump/base/bytes.hpp"
#include "opdump/port/device_memory.hpp"
#include "opdump/types/tensor.hpp"

namespace opdump {
inline namespace OPDUMP_NAMESPACE {

/// The elements of a tensor in the framework's format, copied from a tensor that lies in a format of the device.
class RestoredElements {
 public:
  /// Fills `to` with whole elements of `tensor`, from its byte `at` on, which is the first byte of an
  /// element, and makes them little-endian. Errors are those of `DeviceMemory::copy`.
  [[nodiscard]] virtual Status copy(const TensorView& tensor, std::uint64_t at, MutableBytes to) = 0;

 protected:
  ~RestoredElements() = default;
};

/// Takes tensors out of the formats of the device, for configs that want them in the framework's formats:
/// MindSpore's `trans_flag`, and its NumPy files of whole graphs (O2). A session is given a Restorer by
/// address, so that firmware which needs none carries no code for it.
class Restorer {
 public:
  /// Turns `tensor` into what it is in format `to`, or if that is `reserved` in the framework's: format,
  /// shape, bytes, and `restored`, which then copies its elements. What `tensor` refers to afterwards stays
  /// until the next call for `slot`, the number of a recorder, on whose thread this is called. False when the
  /// tensor cannot be restored: `tensor` is as it was.
  virtual bool restore(std::size_t slot, TensorView& tensor, Format to) = 0;

 protected:
  ~Restorer() = default;
};

/// Bytes of one number in an element of `dtype`: a complex element has two numbers. 1 where bytes have no
/// order: bytes, elements below a byte, texts.
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
/// last whole number stay as they are. Does nothing on a little-endian machine.
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

/// As `copy_elements`, for a restored tensor.
[[nodiscard, gnu::noinline]] inline Status copy_restored(const TensorView& tensor, std::uint64_t at,
                                                         std::byte* to, std::size_t bytes) {
  return restored_elements(tensor)->copy(tensor, at, {to, bytes});
}

/// Copies `to.size()` bytes of `tensor`, from its byte `at` on, which is the first byte of an element, and
/// makes them little-endian. Errors are those of `memory.copy`.
template <class Memory>
[[nodiscard, gnu::always_inline]] inline Status copy_elements(Memory& memory, const TensorView& tensor,
                                                              std::uint64_t at, MutableBytes to) {
  if (!build::kLean && is_restored(tensor)) return copy_restored(tensor, at, to.data(), to.size());
  const Status status = copy_pieces(memory, tensor.address + at, to);
  if (status == Status::ok) to_little_endian(to, tensor.dtype);
  return status;
}

/// With OPDUMP_SMALL_CODE, whatever looks at the elements of a tensor gets them from here: `take(to, piece, bytes)`
/// is given the elements without padding, little-endian, on the stack and a few at a time. `invalid_tensor` for a
/// tensor with fewer bytes than its shape needs; other errors are those of `memory.copy`.
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
