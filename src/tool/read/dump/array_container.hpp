#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "opdump/base/bytes.hpp"
#include "opdump/types/dtype.hpp"
#include "opdump/types/tensor.hpp"
#include "src/tool/read/dump/array_form.hpp"

namespace opdump::tool {

/// An array that lies in a file.
struct ContainedArray {
  std::string name;
  DType dtype = DType::undefined;
  std::vector<Dim> shape;
  std::uint64_t offset = 0;  ///< in the file
  std::uint64_t bytes = 0;   ///< of its elements
  ArrayForm form{};
};

/// Whether a file of this name holds arrays of other programs: `.npz`, `.safetensors`, or `.pb` or
/// `.tensorproto`, an ONNX TensorProto.
bool is_container(const std::string& file_name);

/// Reads where the arrays of an untrusted file lie. On false `reason` says why not: the file is damaged, or
/// its arrays are compressed, which takes zlib. On true it may say which array is of a dtype that nothing here
/// reads; the others are there. Source: NumPy's npz (ZIP, APPNOTE 6.3), the safetensors
/// format, ONNX's onnx.proto.
bool read_container(const std::string& file_name, Bytes file, std::vector<ContainedArray>& arrays,
                    std::string& reason);

}  // namespace opdump::tool
