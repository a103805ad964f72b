#include "src/tool/judge/diverge/one_node_model.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <optional>
#include <span>

#include "opdump/base/bytes.hpp"
#include "src/attach/onnx_dtype.hpp"
#include "src/tool/judge/compare/open_pair.hpp"
#include "src/tool/read/dump/npy_array.hpp"

namespace opdump::tool {
namespace {

/// The bits of a number that `rounding` has rounded, of a dtype of 16 bits.
std::uint16_t bits_of(double number, const FloatRounding& rounding) {
  const int exponent_bits = 15 - rounding.digits;
  const auto all = static_cast<std::uint16_t>((1u << exponent_bits) - 1);
  const auto sign = static_cast<std::uint16_t>(std::signbit(number) ? 0x8000 : 0);
  const auto pack = [&](unsigned exponent, unsigned fraction) {
    return static_cast<std::uint16_t>(sign | exponent << rounding.digits | fraction);
  };
  if (std::isnan(number)) return pack(all, 1u << (rounding.digits - 1));
  if (std::isinf(number)) return pack(all, 0);
  if (number == 0) return sign;
  const int exponent = std::ilogb(number);
  const double step = std::ldexp(1.0, std::max(exponent, rounding.least_exponent) - rounding.digits);
  const auto steps = static_cast<unsigned>(std::fabs(number) / step);
  if (exponent < rounding.least_exponent) return pack(0, steps);
  return pack(static_cast<unsigned>(exponent - rounding.least_exponent + 1), steps - (1u << rounding.digits));
}

struct Version {
  std::uint64_t opset;
  std::uint64_t file;  ///< of onnx.proto, which came with it
};

/// The first opset of each version of the file.
constexpr Version kVersions[] = {{1, 3},  {9, 4},   {10, 5},  {11, 6},  {12, 7}, {15, 8},
                                 {19, 9}, {21, 10}, {23, 11}, {24, 12}, {25, 13}};

/// Operators that are not ONNX's own count their opsets by themselves.
constexpr std::uint64_t kFileOfOthers = 8;

std::uint64_t file_version_of(DType dtype) {
  switch (dtype) {
    case DType::float8_e4m3fn:
    case DType::float8_e4m3fnuz:
    case DType::float8_e5m2:
    case DType::float8_e5m2fnuz:
      return 9;
    case DType::int4:
    case DType::uint4:
      return 10;
    case DType::float4_e2m1:
      return 11;
    default:
      return 0;
  }
}

/// The oldest one that has the operator and its dtypes: old compilers read it too.
std::uint64_t file_version(const ReplayOp& op) {
  std::uint64_t version = op.domain.empty() ? 0 : kFileOfOthers;
  for (const Version& known : kVersions) {
    if (op.domain.empty() && op.opset >= known.opset) version = known.file;
  }
  for (const std::optional<ReplayTensor>& input : op.inputs) {
    if (input) version = std::max(version, file_version_of(input->dtype));
  }
  for (const auto& [name, dtype] : op.wanted) version = std::max(version, file_version_of(dtype));
  return version;
}

bool number_of(DType dtype, std::uint32_t& number, std::string& reason) {
  number = onnx_of_dtype(dtype);
  if (number == 0) reason = "ONNX has no dtype " + std::string(info(dtype).name);
  return number != 0;
}

bool add_tensor(const ReplayTensor& tensor, ProtoMessage& to, std::string& reason) {
  std::uint32_t number = 0;
  if (!number_of(tensor.dtype, number, reason)) return false;
  for (const Dim dim : tensor.dims) to.add_number(1, dim);
  to.add_number(2, number);
  to.add_text(8, tensor.name);
  to.add_bytes(9, Bytes(tensor.bytes));
  return true;
}

/// Adds the value of an attribute, and its type.
struct ValueWriter {
  ProtoMessage& to;

  void operator()(std::int64_t value) { add_integers(3, {&value, 1}, 2); }
  void operator()(float value) { add_floats(2, {&value, 1}, 1); }
  void operator()(const std::string& value) { add_texts(4, {&value, 1}, 3); }
  void operator()(const std::vector<std::int64_t>& values) { add_integers(8, values, 7); }
  void operator()(const std::vector<float>& values) { add_floats(7, values, 6); }
  void operator()(const std::vector<std::string>& values) { add_texts(9, values, 8); }

 private:
  void add_integers(std::uint32_t field, std::span<const std::int64_t> values, std::uint64_t type) {
    for (const std::int64_t value : values) to.add_number(field, static_cast<std::uint64_t>(value));
    to.add_number(20, type);
  }
  void add_floats(std::uint32_t field, std::span<const float> values, std::uint64_t type) {
    for (const float value : values) to.add_float(field, value);
    to.add_number(20, type);
  }
  void add_texts(std::uint32_t field, std::span<const std::string> values, std::uint64_t type) {
    for (const std::string& value : values) to.add_bytes(field, value);
    to.add_number(20, type);
  }
};

void add_attribute(const ReplayAttribute& attribute, ProtoMessage& node) {
  if (!attribute.message.empty()) return node.add_bytes(5, attribute.message);
  ProtoMessage message;
  message.add_text(1, attribute.name);
  std::visit(ValueWriter{message}, attribute.value);
  node.add_message(5, message);
}

/// What a graph says of an input or output. `whole`: all extents too.
bool add_value(std::uint32_t field, const std::string& name, const ReplayTensor& tensor, bool whole,
               ProtoMessage& graph, std::string& reason) {
  std::uint32_t number = 0;
  if (!number_of(tensor.dtype, number, reason)) {
    reason = name + ": " + reason;
    return false;
  }
  ProtoMessage shape;
  for (const Dim dim : tensor.dims) {
    ProtoMessage extent;
    if (whole || tensor.dims.size() == 1) extent.add_number(1, dim);
    shape.add_message(1, extent);
  }
  ProtoMessage tensor_type;
  tensor_type.add_number(1, number);
  tensor_type.add_message(2, shape);
  ProtoMessage type;
  type.add_message(1, tensor_type);
  ProtoMessage value;
  value.add_text(1, name);
  value.add_message(2, type);
  graph.add_message(field, value);
  return true;
}

}  // namespace

bool narrow_floats(const ReplayTensor& from, DType dtype, ReplayTensor& to) {
  const std::optional<FloatRounding> rounding = rounding_of(dtype);
  if (from.dtype != DType::float64 || (!rounding && dtype != DType::float32)) return false;
  const std::size_t count = from.bytes.size() / sizeof(double);
  const std::size_t item = info(dtype).bits / 8;
  to = {from.name, dtype, from.dims, std::vector<std::byte>(count * item)};
  for (std::size_t i = 0; i < count; ++i) {
    const auto number =
        std::bit_cast<double>(load_little_endian<std::uint64_t>(from.bytes.data() + i * sizeof(double)));
    std::byte* const at = to.bytes.data() + i * item;
    if (rounding)
      store_little_endian(at, bits_of(rounding->round(number), *rounding));
    else
      store_little_endian(at, std::bit_cast<std::uint32_t>(static_cast<float>(number)));
  }
  return true;
}

bool array_of(const ReplayTensor& tensor, std::string& bytes, std::string& reason) {
  RecordTensor described;
  described.dtype = tensor.dtype;
  described.dtype_known = true;
  described.bytes = tensor.bytes.size();
  described.has_shape = true;
  if (tensor.dims.size() > kMaxRank) {
    reason = "it has " + std::to_string(tensor.dims.size()) + " dims";
    return false;
  }
  described.rank = static_cast<std::uint8_t>(tensor.dims.size());
  std::copy(tensor.dims.begin(), tensor.dims.end(), described.dims);
  NpyArray array;
  if (!describe_array(described, false, array, reason)) return false;
  // Not as msaccucmp: a tensor without elements keeps its dtype, and a scalar stays one.
  const std::string_view own = info(tensor.dtype).npy_descr;
  bytes = npy_header(array.elements == 0 && !own.empty() ? own : array.descr, tensor.dims);
  const std::size_t head = bytes.size();
  bytes.resize(head + static_cast<std::size_t>(array.elements) * array.item_bytes);
  auto* const items = reinterpret_cast<std::byte*>(bytes.data() + head);
  if (array.convert != nullptr)
    array.convert(tensor.bytes.data(), static_cast<std::size_t>(array.elements), items);
  else
    std::copy_n(tensor.bytes.begin(), bytes.size() - head, items);
  return true;
}

std::string model_input_name(std::size_t k) {
  return "input_" + std::to_string(k);
}

std::string model_output_name(std::size_t k) {
  return "output_" + std::to_string(k);
}

bool one_node_model(const ReplayOp& op, const std::vector<ReplayTensor>* outputs, std::string& model,
                    std::string& reason) {
  ProtoMessage node;
  ProtoMessage values;  // fields of the graph
  // An optional input or output that is not given has an empty name, and may be left out at the end.
  std::size_t given = 0;
  std::size_t left_out = 0;
  for (const std::optional<ReplayTensor>& input : op.inputs) {
    if (!input) {
      ++left_out;
      continue;
    }
    for (; left_out != 0; --left_out) node.add_bytes(1, "");
    const std::string name = model_input_name(given++);
    node.add_bytes(1, name);
    if (!add_value(11, name, *input, outputs != nullptr, values, reason)) return false;
  }
  std::size_t wanted = 0;
  left_out = 0;
  for (std::size_t i = 0; i < op.wanted.size(); ++i) {
    if (op.wanted[i].first.empty()) {
      ++left_out;
      continue;
    }
    for (; left_out != 0; --left_out) node.add_bytes(2, "");
    const std::string name = model_output_name(wanted++);
    node.add_bytes(2, name);
    if (outputs != nullptr) {
      if (!add_value(12, name, (*outputs)[i], true, values, reason)) return false;
      continue;
    }
    ProtoMessage value;
    value.add_text(1, name);
    values.add_message(12, value);
  }
  if (outputs != nullptr) node.add_text(3, op.name);
  node.add_text(4, op.type);
  for (const ReplayAttribute& attribute : op.attributes) add_attribute(attribute, node);
  node.add_text(7, op.domain);

  ProtoMessage head;
  head.add_message(1, node);
  head.add_text(2, "one_operator");
  ProtoMessage opset;
  opset.add_bytes(1, op.domain);
  opset.add_number(2, op.opset);
  ProtoMessage file;
  file.add_number(1, file_version(op));
  file.add_text(2, "opdump");
  file.add_text(3, OPDUMP_VERSION);
  file.add_bytes(7, head.bytes() + values.bytes());
  file.add_message(8, opset);
  model = file.bytes();
  return true;
}

bool tensor_proto(const ReplayTensor& tensor, std::string& bytes, std::string& reason) {
  ProtoMessage message;
  if (!add_tensor(tensor, message, reason)) return false;
  bytes = message.bytes();
  return true;
}

}  // namespace opdump::tool
