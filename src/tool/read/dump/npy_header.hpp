#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "opdump/base/bytes.hpp"
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

}  // namespace opdump::tool
