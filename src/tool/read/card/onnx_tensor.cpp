#include "src/tool/read/card/onnx_tensor.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

#include "opdump/read/proto_wire.hpp"
#include "src/attach/onnx_dtype.hpp"
#include "src/tool/cli/decimal.hpp"

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

namespace {

bool read_place(Bytes message, OnnxTensor& tensor) {
  std::string_view key, value;
  bool good = true;
  ByteReader in(message);
  for (ProtoField field; next_field(in, field, good);) {
    if (field.is_bytes(1)) key = as_text(field.bytes);
    if (field.is_bytes(2)) value = as_text(field.bytes);
  }
  if (key == "location") tensor.location = value;
  if (key == "offset") tensor.offset = parse_decimal(value).value_or(UINT64_MAX);
  return good;
}

}  // namespace

bool read_onnx_tensor(Bytes message, OnnxTensor& tensor) {
  bool good = true;
  ByteReader in(message);
  for (ProtoField field; next_field(in, field, good);) {
    if (field.is_number(1) || field.is_bytes(1)) {
      good = read_numbers(field, [&](std::uint64_t dim) {
        tensor.dims.push_back(dim);
        return tensor.dims.size() <= kMaxRank;
      });
    }
    if (field.is_number(2)) tensor.dtype = dtype_of_onnx(field.value);
    if (field.is_bytes(8)) tensor.name = as_text(field.bytes);
    // Packed float32 and float64 lie there as raw elements do.
    if (field.is_bytes(9) || field.is_bytes(4) || field.is_bytes(10)) tensor.raw = field.bytes;
    const bool is_float = field.number == 4 || field.number == 10;
    if (is_float && (field.wire == ProtoWire::fixed32 || field.wire == ProtoWire::fixed64))
      tensor.numbers.push_back(field.value);
    if (field.number == 5 || field.number == 7 || field.number == 11) {
      good = read_numbers(field, [&](std::uint64_t number) {
        tensor.numbers.push_back(number);
        return true;
      });
    }
    if (field.is_bytes(13)) good = read_place(field.bytes, tensor);
    if (field.is_number(14)) tensor.is_external = field.value == 1;
  }
  return good && tensor.dtype != DType::undefined;
}

bool onnx_elements(const OnnxTensor& tensor, std::vector<std::byte>& bytes, std::string& reason) {
  const Result<std::uint64_t> needed = packed_bytes(tensor.dtype, tensor.dims);
  // Elements smaller than a byte are packed there too, a byte to a field.
  const std::size_t item = std::max<std::size_t>(info(tensor.dtype).bits / 8, 1);
  bytes.assign(tensor.raw.begin(), tensor.raw.end());
  if (tensor.raw.empty() && item <= sizeof(std::uint64_t)) {
    bytes.resize(tensor.numbers.size() * item);
    for (std::size_t i = 0; i < tensor.numbers.size(); ++i)
      std::memcpy(bytes.data() + i * item, &tensor.numbers[i],
                  item);  // the tool runs on little-endian machines alone
  }
  if (needed.ok() && bytes.size() == needed.value()) return true;
  reason = "its " + std::to_string(bytes.size()) + " bytes do not fill its shape";
  return false;
}

}  // namespace opdump::tool
