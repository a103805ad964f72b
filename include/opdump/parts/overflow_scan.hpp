#pragma once
#include <cstddef>
#include <cstdint>
#include <span>

#include "opdump/impl/record/part_interfaces.hpp"
#include "opdump/impl/record/record_encoder.hpp"
#include "opdump/impl/stats/non_finite.hpp"
#include "opdump/port/device_copy.hpp"
#include "opdump/port/device_memory.hpp"
#include "opdump/types/model.hpp"
#include "opdump/types/overflow.hpp"
#include "opdump/types/plan.hpp"

namespace opdump {
inline namespace OPDUMP_NAMESPACE {

#if OPDUMP_SMALL_CODE == 0
/// Asks the device where it reports overflows, and looks for infinities and NaNs in the outputs where it does
/// not: `Memory` may have
///
///     Result<bool> overflowed(std::uint32_t stream_id);
///
/// which says whether an operator of that stream overflowed since the last call, and resets the report, or
/// `not_supported`. If `Memory` has `view`, outputs are searched where they lie, else in pieces that are
/// copied to the stack; the report then says `searched`. The status says kOverflowFloat, and also
/// kOverflowToFloat16 where an output of float16 was made of inputs that were all wider.
template <class Memory>
class OverflowScan final : public OverflowCheck {
 public:
  /// `kernel` may be null; see `non_finite_kernel`.
  constexpr explicit OverflowScan(Memory& memory, NonFiniteKernel kernel = nullptr)
      : memory_(memory), kernel_(kernel) {}

  Result<bool> overflowed([[maybe_unused]] const OpDesc& op, const CapturedTensors& tensors,
                          OverflowReport& report) override {
    if constexpr (requires { memory_.overflowed(op.stream_id); }) {
      const Result<bool> told = memory_.overflowed(op.stream_id);
      if (told.ok() && told.value()) report = synthesised(tensors, tensors.outputs);
      if (told.status() != Status::not_supported) return told;
    }
    for (const TensorView& output : tensors.outputs) {
      const Result<bool> found = is_bad(output);
      if (!found.ok()) return found;
      if (!found.value()) continue;
      report = synthesised(tensors, {&output, 1});
      report.searched = true;
      return true;
    }
    return false;
  }

  Result<bool> bad(std::span<const TensorView> tensors) override {
    for (const TensorView& tensor : tensors) {
      const Result<bool> found = is_bad(tensor);
      if (!found.ok() || found.value()) return found;
    }
    return false;
  }

 private:
  static constexpr std::size_t kPieceBytes = 256;

  static OverflowReport synthesised(const CapturedTensors& tensors, std::span<const TensorView> outputs) {
    OverflowReport report;
    for (const TensorView& output : outputs)
      report.status[0] |= narrows(tensors.inputs, output) ? kOverflowToFloat16 : kOverflowFloat;
    if (outputs.empty()) report.status[0] = kOverflowFloat;
    return report;
  }

  static bool narrows(std::span<const TensorView> inputs, const TensorView& output) {
    if (output.dtype != DType::float16 || inputs.empty()) return false;
    for (const TensorView& input : inputs) {
      if (input.dtype != DType::float32 && input.dtype != DType::int32) return false;
    }
    return true;
  }

  Result<bool> is_bad(const TensorView& tensor) {
    if (!can_be_non_finite(tensor.dtype)) return false;
    const Result<std::uint64_t> packed = packed_bytes(tensor.dtype, tensor.shape);
    if (!packed.ok()) return packed.status();
    const std::uint64_t all = packed.value();
    // A tensor that falls short of its shape is refused when it is captured.
    if (all > tensor.bytes) return Status::invalid_tensor;
    if constexpr (ViewableMemory<Memory>) {
      const Bytes whole = memory_.view(tensor.address, all);
      if (whole.size() == all) return holds_non_finite(tensor.dtype, whole.data(), whole.size(), kernel_);
    }
    alignas(16) std::byte piece[kPieceBytes];
    for (std::uint64_t at = 0; at < all; at += kPieceBytes) {
      const std::size_t bytes = all - at < kPieceBytes ? static_cast<std::size_t>(all - at) : kPieceBytes;
      const Status status = copy_pieces(memory_, tensor.address + at, {piece, bytes});
      if (status != Status::ok) return status;
      if (holds_non_finite(tensor.dtype, piece, bytes, kernel_)) return true;
    }
    return false;
  }

  Memory& memory_;
  NonFiniteKernel kernel_;
};
#else
/// As OverflowScan without OPDUMP_SMALL_CODE, but takes all elements of 8 bits for finite.
template <class Memory>
class OverflowScan final : public OverflowCheck {
 public:
  constexpr explicit OverflowScan(Memory& memory) : memory_(memory) {}

  Result<bool> overflowed([[maybe_unused]] const OpDesc& op, const CapturedTensors& tensors,
                          OverflowReport& report) override {
    bool told = false;
    if constexpr (requires { memory_.overflowed(op.stream_id); }) {
      const Result<bool> answer = memory_.overflowed(op.stream_id);
      told = answer.status() != Status::not_supported;
      if (told && (!answer.ok() || !answer.value())) return answer;
      if (told && tensors.outputs.empty()) report.status[0] = kOverflowFloat;
    }
    for (const TensorView& output : tensors.outputs) {
      if (!told) {
        const Result<bool> found = is_bad(output);
        if (!found.ok()) return found;
        if (!found.value()) continue;
      }
      report.status[0] |= narrows(tensors.inputs, output) ? kOverflowToFloat16 : kOverflowFloat;
      report.searched = !told;
      if (!told) return true;
    }
    return told;
  }

 private:
  /// Where an element has its exponent: `mask` selects it in the element's two highest bytes.
  struct Exponent {
    std::uint16_t mask = 0;  ///< 0: no exponent
    std::uint8_t bytes = 0;  ///< of an element, or of one part of a complex element
  };
  static constexpr Exponent exponent_of(DType dtype) {
    switch (dtype) {
      case DType::float16:
      case DType::complex32:
        return {0x7c00, 2};
      case DType::bfloat16:
        return {0x7f80, 2};
      case DType::float32:
      case DType::complex64:
        return {0x7f80, 4};
      case DType::float64:
      case DType::complex128:
        return {0x7ff0, 8};
      default:
        return {};
    }
  }

  static bool narrows(std::span<const TensorView> inputs, const TensorView& output) {
    if (output.dtype != DType::float16 || inputs.empty()) return false;
    for (const TensorView& input : inputs) {
      if (input.dtype != DType::float32 && input.dtype != DType::int32) return false;
    }
    return true;
  }

  struct Search {
    Exponent exponent;
    bool found;
  };

  Result<bool> is_bad(const TensorView& tensor) {
    Search search = {exponent_of(tensor.dtype), false};
    if (search.exponent.mask == 0) return false;
    const Status status =
        read_pieces(memory_, tensor, &search, [](void* to, const std::byte* piece, std::size_t bytes) {
          Search& searching = *static_cast<Search*>(to);
          const Exponent exponent = searching.exponent;
          for (std::size_t at = exponent.bytes - 2u; at < bytes; at += exponent.bytes) {
            const std::uint16_t top = load_little_endian<std::uint16_t>(piece + at);
            searching.found |= (top & exponent.mask) == exponent.mask;
          }
        });
    if (status != Status::ok) return status;
    return search.found;
  }

  Memory& memory_;
};
#endif

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump
