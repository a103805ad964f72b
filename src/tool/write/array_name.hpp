#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "opdump/read/record_tensor.hpp"
#include "src/tool/read/dump/npy_array.hpp"

namespace opdump::tool {

/// The kinds of file that tensors become.
enum class ArrayType { npy, bin, msnpy };

struct ArrayName {
  ArrayType type = ArrayType::npy;
  bool restored = false;       ///< a format was asked for, so the name holds the dims
  Format format = Format::nd;  ///< of the array
  std::string_view op_name;    ///< the record's own; empty: it has none
  bool is_nano = true;
};

/// The file name for a tensor of the record `file_name`, as msaccucmp makes it; empty, with `reason`, when
/// the name needs a format that has no name.
std::string array_name(const std::string& file_name, const RecordTensor& tensor, const NpyArray& array,
                       const ArrayName& wanted, std::string& reason);

/// "input.0", "output.3".
std::string role_text(const RecordTensor& tensor);

}  // namespace opdump::tool
