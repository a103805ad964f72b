#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "opdump/base/bytes.hpp"
#include "opdump/types/tensor.hpp"

namespace opdump::tool {

/// How the elements of an array lie in a file, where not packed, in C order and little-endian.
struct ArrayForm {
  std::uint8_t item_bytes = 0;     ///< of NumPy's items; 0: not of NumPy
  std::uint8_t swapped_bytes = 0;  ///< of a big-endian number; 0: numbers are little-endian
  bool fortran_order = false;
  bool is_proto = false;       ///< the elements are fields of an ONNX TensorProto, which is the whole file
  std::uint32_t skipped = 0;   ///< bytes of the raw deflate stream before the first element
  std::uint64_t deflated = 0;  ///< of that stream; 0: there is none

  bool is_plain() const { return swapped_bytes == 0 && !fortran_order && !is_proto && deflated == 0; }
};

/// Inflates the first `count` bytes of a raw deflate stream, or fewer where it ends before. False, with a
/// `reason`, where it is damaged or this program has no zlib.
bool inflate_bytes(Bytes stream, std::uint64_t count, std::vector<std::byte>& to, std::string& reason);

/// Gives the elements of an array that is not plain and lies in `file` from `offset` on: packed, in C order,
/// little-endian. Takes as much memory as they are. On false `reason` says why not.
bool plain_elements(Bytes file, std::uint64_t offset, const ArrayForm& form, Shape shape,
                    std::vector<std::byte>& to, std::string& reason);

}  // namespace opdump::tool
