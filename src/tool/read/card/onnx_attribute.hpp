#pragma once
#include <cstdint>
#include <string_view>
#include <vector>

#include "opdump/base/bytes.hpp"
#include "opdump/read/proto_wire.hpp"

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

}  // namespace opdump::tool
