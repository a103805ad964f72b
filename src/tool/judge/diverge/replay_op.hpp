#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "opdump/types/dtype.hpp"
#include "opdump/types/tensor.hpp"

namespace opdump::tool {

/// A tensor in plain row-major order, its elements packed and little-endian.
struct ReplayTensor {
  std::string name;  ///< in the model; may be empty
  DType dtype = DType::undefined;
  std::vector<Dim> dims;
  std::vector<std::byte> bytes;  ///< of all elements: as many as dtype and dims need
};

/// The value of an attribute, in ONNX's types.
using ReplayValue = std::variant<std::int64_t, float, std::string, std::vector<std::int64_t>,
                                 std::vector<float>, std::vector<std::string>>;

struct ReplayAttribute {
  std::string name;
  ReplayValue value;
  std::string message{};  ///< the AttributeProto, as it stands in the model's file; empty: made of `value`
};

/// An operator of ONNX with the inputs that it had on the device.
struct ReplayOp {
  std::string name;                                   ///< in the model
  std::string type;                                   ///< of ONNX, "Conv"
  std::string domain;                                 ///< empty: ONNX's own
  std::uint64_t opset = 0;                            ///< of the domain; never 0
  std::vector<ReplayAttribute> attributes;            ///< those that the model gives
  std::vector<std::optional<ReplayTensor>> inputs;    ///< nothing: an optional one that is not given
  std::vector<std::pair<std::string, DType>> wanted;  ///< of each output its name, empty where the model
                                                      ///< leaves it out, and the dtype that the device made

  /// The attribute's value if it is there and of that type, else null.
  template <class Value>
  const Value* attribute(std::string_view attribute_name) const {
    for (const ReplayAttribute& given : attributes) {
      if (given.name == attribute_name) return std::get_if<Value>(&given.value);
    }
    return nullptr;
  }
};

}  // namespace opdump::tool
