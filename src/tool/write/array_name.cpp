#include "src/tool/write/array_name.hpp"

#include <vector>

namespace opdump::tool {
namespace {

std::string joined(Shape shape, char separator) {
  std::string text;
  for (const Dim dim : shape) {
    if (!text.empty()) text += separator;
    text += std::to_string(dim);
  }
  return text;
}

/// NumPy's name of the tensor's own dtype where it has one.
std::string_view dtype_name(DType dtype) {
  switch (dtype) {
    case DType::resource:
      return "int64";
    case DType::uint1:
      return "uint8";
    case DType::undefined:
      return "int8";
    default:
      return info(dtype).name;
  }
}

/// In MindSpore's names the second field is the operator's. msaccucmp takes what a record says its operator
/// is called, and for nano records, which do not say it, the time stamp.
std::string mindspore_name(const std::string& file_name, const ArrayName& wanted) {
  constexpr std::size_t kFields = 5;
  std::vector<std::string> fields(1);
  for (const char c : file_name) {
    if (c == '.') {
      fields.emplace_back();
    } else {
      fields.back() += c;
    }
  }
  if (fields.size() != kFields) return file_name;
  if (wanted.is_nano) {
    fields[1] = fields.back();
  } else if (!wanted.op_name.empty()) {
    fields[1] = wanted.op_name.substr(wanted.op_name.rfind('/') + 1);
    for (char& c : fields[1]) c = c == '\0' ? '_' : c;
  }
  return fields[0] + '.' + fields[1] + '.' + fields[2] + '.' + fields[3] + '.' + fields[4];
}

}  // namespace

std::string role_text(const RecordTensor& tensor) {
  return std::string(tensor.is_output ? "output" : "input") + '.' + std::to_string(tensor.index);
}

std::string array_name(const std::string& file_name, const RecordTensor& tensor, const NpyArray& array,
                       const ArrayName& wanted, std::string& reason) {
  const std::string role = '.' + role_text(tensor) + '.';
  if (wanted.type == ArrayType::npy)
    return file_name + role + (wanted.restored ? joined(array.shape, 'x') + '.' : "") + "npy";
  const std::string_view format = to_string(wanted.format);
  if (format.empty()) {
    reason = "the format " + std::to_string(static_cast<std::int32_t>(wanted.format)) +
             " has no name, which the file's name needs; '-t npy' does without";
    return {};
  }
  if (wanted.type == ArrayType::msnpy)
    return mindspore_name(file_name, wanted) + role + std::string(format) + ".npy";
  const bool flat = !wanted.restored && array.elements != 0;
  return file_name + role + (flat ? std::to_string(array.elements) : joined(array.shape, '_')) + '.' +
         std::string(dtype_name(tensor.dtype)) + '.' + std::string(format) + ".bin";
}

}  // namespace opdump::tool
