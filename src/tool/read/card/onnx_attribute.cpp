#include "src/tool/read/card/onnx_attribute.hpp"

#include <bit>

namespace opdump::tool {
namespace {

float onnx_float(std::uint64_t bits) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits));
}

}  // namespace

bool add_onnx_floats(const ProtoField& field, std::vector<float>& to) {
  if (field.wire == ProtoWire::fixed32) to.push_back(onnx_float(field.value));
  if (field.wire != ProtoWire::length) return true;
  ByteReader in(field.bytes);
  while (in.remaining() >= sizeof(float)) to.push_back(onnx_float(in.read<std::uint32_t>()));
  return in.remaining() == 0;
}

bool read_onnx_attribute(Bytes message, OnnxAttribute& attribute) {
  bool good = true;
  ByteReader in(message);
  for (ProtoField field; next_field(in, field, good);) {
    if (field.is_bytes(1)) attribute.name = as_text(field.bytes);
    if (field.is_number(20)) attribute.type = static_cast<OnnxAttributeType>(field.value);
    if (field.number == 2 && field.wire == ProtoWire::fixed32)
      attribute.reals.push_back(onnx_float(field.value));
    if (field.is_number(3)) attribute.integers.push_back(static_cast<std::int64_t>(field.value));
    if (field.is_bytes(4) || field.is_bytes(9)) attribute.texts.push_back(as_text(field.bytes));
    if (field.is_bytes(5)) attribute.tensor = field.bytes;
    if (field.number == 7) good = add_onnx_floats(field, attribute.reals);
    if (field.number == 8) {
      good = read_numbers(field, [&](std::uint64_t value) {
        attribute.integers.push_back(static_cast<std::int64_t>(value));
        return true;
      });
    }
  }
  return good;
}

}  // namespace opdump::tool
