#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "opdump/read/record_tensor.hpp"

namespace opdump::tool {

/// Turns `count` elements into those of the array; the bytes written are `count` times the item's.
using ConvertElements = void (*)(const std::byte* from, std::size_t count, std::byte* to);

/// The array that a tensor of a record becomes. Where msaccucmp makes one, it is the same.
struct NpyArray {
  std::string_view descr;
  std::vector<Dim> shape;
  std::uint64_t elements = 0;
  std::uint32_t item_bytes = 0;       ///< of the array
  std::uint32_t element_bits = 0;     ///< of the tensor
  ConvertElements convert = nullptr;  ///< null: the tensor's bytes as they are

  /// Bytes of the tensor that the array is made of; what the tensor has besides is padding.
  std::uint64_t source_bytes() const { return (elements * element_bits + 7) / 8; }
};

/// On false `reason` says why there is no such array. bfloat16 becomes float32, or with `keep_bfloat16` stays
/// as it is, as items of two bytes; float8 types with a fraction become float64, integers below a byte int8
/// or uint8 each, complex32 complex64, and what has no dtype int8. A tensor without shape is flat, a scalar
/// has the shape (1,), and with a dim of 0 the array is float64, as msaccucmp has it.
bool describe_array(const RecordTensor& tensor, bool keep_bfloat16, NpyArray& array, std::string& reason);

}  // namespace opdump::tool
