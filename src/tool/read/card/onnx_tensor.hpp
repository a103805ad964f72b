#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "opdump/base/bytes.hpp"
#include "opdump/types/dtype.hpp"
#include "opdump/types/tensor.hpp"

namespace opdump::tool {

/// What an ONNX TensorProto says. Refers to the message.
struct OnnxTensor {
  std::string_view name{};
  DType dtype = DType::undefined;
  std::vector<Dim> dims{};
  Bytes raw{};  ///< packed elements, if they lie there
  /// Elements that are fields of protobuf, one each or, of complex, two.
  std::vector<std::uint64_t> numbers{};
  bool is_external = false;     ///< the elements lie in a file of their own:
  std::string_view location{};  ///< its name, beside the model
  std::uint64_t offset = 0;
};

/// Reads an untrusted message. False where it is damaged, has more than 32 dims or an unknown dtype.
bool read_onnx_tensor(Bytes message, OnnxTensor& tensor);

/// The elements, packed and little-endian, of a tensor that is not external. False where they do not fill its
/// shape: `reason` says so.
bool onnx_elements(const OnnxTensor& tensor, std::vector<std::byte>& bytes, std::string& reason);

}  // namespace opdump::tool
