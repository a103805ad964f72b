#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "opdump/base/bytes.hpp"
#include "opdump/read/proto_wire.hpp"
#include "opdump/types/dtype.hpp"
#include "opdump/types/tensor.hpp"

namespace opdump::tool {

/// The kinds of values of ONNX's AttributeProto. Those that are not here are types.
enum class OnnxAttributeType : std::uint64_t {
  none = 0,
  real = 1,
  integer = 2,
  text = 3,
  tensor = 4,
  graph = 5,
  reals = 6,
  integers = 7,
  texts = 8,
  tensors = 9,
  graphs = 10,
  sparse_tensor = 11,
  sparse_tensors = 12,
};

/// An ONNX AttributeProto. Refers to the message. A single value is the last one of its list.
struct OnnxAttribute {
  std::string_view name{};
  OnnxAttributeType type = OnnxAttributeType::none;
  std::vector<float> reals{};
  std::vector<std::int64_t> integers{};
  std::vector<std::string_view> texts{};
  Bytes tensor{};

  // Zero and empty texts may be left out of a message.
  float real() const { return reals.empty() ? 0 : reals.back(); }
  std::int64_t integer() const { return integers.empty() ? 0 : integers.back(); }
  std::string_view text() const { return texts.empty() ? std::string_view() : texts.back(); }
};

/// Reads an untrusted message; false where it is damaged.
bool read_onnx_attribute(Bytes message, OnnxAttribute& attribute);

/// Reads a field of packed or single floats.
bool add_onnx_floats(const ProtoField& field, std::vector<float>& to);

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
