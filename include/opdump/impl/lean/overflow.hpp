#pragma once
#include <cstddef>
#include <cstdint>

#include "opdump/impl/record/part_interfaces.hpp"
#include "opdump/impl/record/record_encoder.hpp"
#include "opdump/port/device_copy.hpp"
#include "opdump/port/device_memory.hpp"
#include "opdump/types/overflow.hpp"
#include "opdump/types/plan.hpp"

#if OPDUMP_SMALL_CODE
namespace opdump {
inline namespace OPDUMP_NAMESPACE {

/// As OverflowScan without OPDUMP_SMALL_CODE (overflow_scan.hpp), but takes all elements of 8 bits for finite.
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

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump
#endif
