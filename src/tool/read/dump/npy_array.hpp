#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "opdump/base/bytes.hpp"
#include "opdump/read/record_tensor.hpp"
#include "opdump/types/dtype.hpp"
#include "opdump/types/tensor.hpp"
#include "src/tool/read/dump/array_form.hpp"

namespace opdump::tool {

/// The start of an `.npy` file of version 1.0, up to the first element, byte by byte as NumPy (from 1.23 on)
/// writes it for an array in C order.
std::string npy_header(std::string_view descr, Shape shape);

/// What the start of an `.npy` file says.
struct NpyFile {
  std::string descr;
  DType dtype = DType::undefined;  ///< undefined: raw items without a number type, as NumPy's V2
  ArrayForm form;
  std::vector<Dim> shape;
  std::uint64_t data_offset = 0;
  std::uint64_t data_bytes = 0;  ///< by shape and items; the file may be longer or, wrongly, shorter
};

/// The longest header that is read.
inline constexpr std::size_t kMostNpyHeadBytes = 64 * 1024;

/// Reads `start`, the first bytes of a file: at least kMostNpyHeadBytes, or the whole file. On false `reason`
/// says what is wrong.
bool parse_npy(Bytes start, NpyFile& file, std::string& reason);

/// Turns `count` elements into items of the array; writes `count` times the size of an item.
using ConvertElements = void (*)(const std::byte* from, std::size_t count, std::byte* to);

/// The array that a tensor of a record becomes. If msaccucmp makes an array of the tensor, this is the same array.
struct NpyArray {
  std::string_view descr;
  std::vector<Dim> shape;
  std::uint64_t elements = 0;
  std::uint32_t item_bytes = 0;       ///< of the array
  std::uint32_t element_bits = 0;     ///< of the tensor
  ConvertElements convert = nullptr;  ///< null: the tensor's bytes unchanged

  /// Bytes of the tensor that the array is made from; the tensor's other bytes are padding.
  std::uint64_t source_bytes() const { return (elements * element_bits + 7) / 8; }
};

/// On false `reason` says why there is no such array. bfloat16 becomes float32, or with `keep_bfloat16` stays
/// as items of two bytes; float8 types with a fraction become float64, each integer below a byte int8 or
/// uint8, complex32 complex64, and tensors without a dtype int8. As in msaccucmp, a tensor without shape is
/// flat, a scalar has the shape (1,), and a tensor with a dim of 0 becomes a float64 array.
bool describe_array(const RecordTensor& tensor, bool keep_bfloat16, NpyArray& array, std::string& reason);

}  // namespace opdump::tool
