#include "src/tool/read/run/run_tensor_reader.hpp"

#include <algorithm>
#include <array>
#include <span>
#include <string>

#include "opdump/impl/stats/non_finite.hpp"
#include "opdump/types/tensor.hpp"
#include "src/tool/read/dump/mapped_file.hpp"
#include "src/tool/read/dump/npy_array.hpp"

namespace opdump::tool {

using cards::Quantisation;
using cards::QuantScheme;
using config::JsonNode;
using config::JsonType;
using config::KeyPath;

bool QuantisationReader::read(const JsonNode& parent, const KeyPath& path, Quantisation& quant) {
  const JsonNode* const node = parent.member("quant");
  if (node == nullptr) return true;
  const KeyPath here = path.key("quant");
  if (node->type() != JsonType::object) return fields_.wrong_type(*node, here, "an object");
  std::size_t scheme = 0;
  if (!fields_.read_word(*node, here, "scheme", cards::kQuantSchemes, scheme)) return false;
  quant.scheme = static_cast<QuantScheme>(scheme + 1);
  std::uint64_t axis = 0;
  if (!fields_.read_number(*node, here, "axis", axis)) return false;
  if (axis >= kMaxRank)
    return fields_.refuse(*node->member("axis"), here.key("axis"), "a tensor has up to 32 dims");
  if (node->member("axis") != nullptr) quant.axis = static_cast<std::int64_t>(axis);
  switch (quant.scheme) {
    case QuantScheme::pow2:
      return read_pow2(*node, here, quant);
    case QuantScheme::block:
      return read_block(*node, here, quant);
    case QuantScheme::lut:
      return read_lut(*node, here, quant);
    default:
      return read_affine(*node, here, quant);
  }
}

bool QuantisationReader::read_affine(const JsonNode& node, const KeyPath& path, Quantisation& quant) {
  constexpr std::array<std::string_view, 4> kKeys = {"scheme", "axis", "scale", "zero_point"};
  if (!fields_.check_object(node, path, kKeys) || !fields_.read_reals(node, path, "scale", quant.scales) ||
      !fields_.read_reals(node, path, "zero_point", quant.zero_points))
    return false;
  if (quant.scales.empty())
    return fields_.missing(node, path.key("scale"), "one number, or one for each index of the axis");
  if (quant.zero_points.empty() || quant.zero_points.size() == quant.scales.size()) return true;
  return fields_.refuse(*node.member("zero_point"), path.key("zero_point"), "there are as many as scales");
}

bool QuantisationReader::read_pow2(const JsonNode& node, const KeyPath& path, Quantisation& quant) {
  constexpr std::array<std::string_view, 3> kKeys = {"scheme", "axis", "exponent"};
  if (!fields_.check_object(node, path, kKeys) ||
      !fields_.read_reals(node, path, "exponent", quant.exponents))
    return false;
  if (quant.exponents.empty())
    return fields_.missing(node, path.key("exponent"), "one number, or one for each index of the axis");
  for (const std::int32_t exponent : quant.exponents) {
    if (exponent < cards::kLeastExponent || exponent > cards::kMostExponent)
      return fields_.refuse(*node.member("exponent"), path.key("exponent"),
                            "exponents are from -149 to 127, as those of a float");
  }
  return true;
}

bool QuantisationReader::read_block(const JsonNode& node, const KeyPath& path, Quantisation& quant) {
  constexpr std::array<std::string_view, 4> kKeys = {"scheme", "type", "block_elements", "block_bytes"};
  std::string_view type;
  if (!fields_.check_object(node, path, kKeys) || !fields_.read_text(node, path, "type", type) ||
      !fields_.read_number(node, path, "block_elements", quant.block_elements) ||
      !fields_.read_number(node, path, "block_bytes", quant.block_bytes))
    return false;
  quant.block_type = type;
  if (type.empty())
    return fields_.missing(node, path.key("type"), "the name of the block's format, as \"Q4_K\"");
  if (quant.block_elements == 0)
    return fields_.missing(node, path.key("block_elements"), "how many numbers a block stands for");
  if (quant.block_bytes == 0)
    return fields_.missing(node, path.key("block_bytes"), "how many bytes a block has");
  return true;
}

bool QuantisationReader::read_lut(const JsonNode& node, const KeyPath& path, Quantisation& quant) {
  constexpr std::array<std::string_view, 4> kKeys = {"scheme", "axis", "table", "first"};
  if (!fields_.check_object(node, path, kKeys) || !fields_.read_reals(node, path, "table", quant.table))
    return false;
  if (quant.table.empty())
    return fields_.missing(node, path.key("table"), "a number for each that is stored");
  const JsonNode* const first = node.member("first");
  return first == nullptr || fields_.take_real(*first, path.key("first"), quant.first);
}

namespace {

using config::JsonNode;
using config::JsonType;
using config::KeyPath;

constexpr std::uint64_t kMostTensorBytes = std::uint64_t{1} << 62;

}  // namespace

bool RunTensorReader::read(const JsonNode& node, const KeyPath& path, bool card, RunTensor& tensor) {
  constexpr std::array<std::string_view, 10> kKeys = {"dtype",          "format",   "shape",
                                                      "original_shape", "data",     "fill",
                                                      "bytes",  // a card has these too:
                                                      "tensor",         "constant", "quant"};
  if (!fields_.check_object(node, path, std::span(kKeys).first(card ? kKeys.size() : 7))) return false;
  if (!fields_.read_text(node, path, "tensor", tensor.name) ||
      !fields_.read_flag(node, path, "constant", tensor.is_constant) ||
      !quantisations_.read(node, path, tensor.quant))
    return false;
  if (card && !is_sized(node)) {
    tensor.sized = false;
    return true;
  }
  if (!read_dtype(node, path, tensor.dtype) || !read_format(node, path, tensor.format) ||
      !read_dims(node, path, "shape", tensor.shape) ||
      !read_dims(node, path, "original_shape", tensor.original_shape))
    return false;
  const JsonNode* data = node.member("data");
  const JsonNode* fill = node.member("fill");
  if (card && data == nullptr && fill == nullptr) {
    tensor.fill = Fill::ramp;
    return need_bytes(node, path, tensor, tensor.bytes);
  }
  if (data == nullptr && fill == nullptr)
    return fields_.missing(node, path, "a tensor has either \"data\", a file, or \"fill\"");
  if (data != nullptr && fill != nullptr)
    return fields_.refuse(node, path, "\"data\" and \"fill\" exclude each other");
  if (data != nullptr) return read_data(node, *data, path, tensor);

  constexpr std::array<std::string_view, 3> kWords = {"zeros", "ramp", "random"};
  constexpr std::array<Fill, 3> kFills = {Fill::zeros, Fill::ramp, Fill::random};
  std::size_t index = 0;
  if (!fields_.read_word(node, path, "fill", kWords, index)) return false;
  tensor.fill = kFills[index];
  return need_bytes(node, path, tensor, tensor.bytes) && read_padding(node, path, tensor.bytes);
}

bool RunTensorReader::is_sized(const JsonNode& node) const {
  const JsonNode* const dtype = node.member("dtype");
  const JsonNode* const shape = node.member("shape");
  if (dtype == nullptr || shape == nullptr) return false;
  const Result<DType> found = dtype_from_name(dtype->text());
  if (found.ok() && info(found.value()).bits == 0) return false;
  for (const JsonNode* dim = shape->first(); dim != nullptr; dim = dim->next()) {
    if (fields_.text().substr(dim->offset()).starts_with("-1")) return false;
  }
  return true;
}

bool RunTensorReader::read_dtype(const JsonNode& parent, const KeyPath& path, DType& dtype) {
  const JsonNode* node = parent.member("dtype");
  if (node == nullptr) return true;
  const KeyPath here = path.key("dtype");
  if (node->type() != JsonType::string) return fields_.wrong_type(*node, here, "a string");
  const Result<DType> found = dtype_from_name(node->text());
  if (!found.ok())
    return fields_.refuse(*node, here,
                          config::in_quotes(node->text()) + " is no dtype; write one as \"float16\"");
  if (info(found.value()).bits == 0)
    return fields_.refuse(*node, here,
                          "elements of " + config::in_quotes(node->text()) + " have no fixed size");
  dtype = found.value();
  return true;
}

bool RunTensorReader::read_format(const JsonNode& parent, const KeyPath& path, Format& format) {
  const JsonNode* node = parent.member("format");
  if (node == nullptr) return true;
  const KeyPath here = path.key("format");
  if (node->type() != JsonType::string) return fields_.wrong_type(*node, here, "a string");
  const Result<Format> found = format_from_name(node->text());
  if (!found.ok())
    return fields_.refuse(*node, here,
                          config::in_quotes(node->text()) + " is no format; write one as \"NC1HWC0\"");
  format = found.value();
  return true;
}

bool RunTensorReader::read_dims(const JsonNode& parent, const KeyPath& path, std::string_view key,
                                std::vector<Dim>& dims) {
  return fields_.for_each(parent, path, key, [&](const JsonNode& node, const KeyPath& here) {
    if (dims.size() == kMaxRank) return fields_.refuse(node, here, "more than 32 dims");
    return fields_.take_number(node, here, std::numeric_limits<Dim>::max(), dims.emplace_back());
  });
}

bool RunTensorReader::need_bytes(const JsonNode& node, const KeyPath& path, const RunTensor& tensor,
                                 std::uint64_t& bytes) {
  if (node.member("dtype") == nullptr)
    return fields_.missing(node, path.key("dtype"), "only an .npy file tells it by itself");
  if (node.member("shape") == nullptr)
    return fields_.missing(node, path.key("shape"), "only an .npy file tells it by itself");
  return count_bytes(node, path, tensor, bytes);
}

bool RunTensorReader::read_padding(const JsonNode& node, const KeyPath& path, std::uint64_t& bytes) {
  const std::uint64_t packed = bytes;
  if (!fields_.read_number(node, path, "bytes", bytes)) return false;
  if (bytes >= packed && bytes <= kMostTensorBytes) return true;
  return fields_.refuse(
      *node.member("bytes"), path.key("bytes"),
      "dtype and shape need " + std::to_string(packed) + " bytes, and no tensor has more than 2^62");
}

bool RunTensorReader::count_bytes(const JsonNode& node, const KeyPath& path, const RunTensor& tensor,
                                  std::uint64_t& bytes) {
  const Result<std::uint64_t> packed = packed_bytes(tensor.dtype, tensor.shape);
  if (!packed.ok() || packed.value() > kMostTensorBytes)
    return fields_.refuse(node, path.key("shape"), "passes every memory");
  bytes = packed.value();
  return true;
}

bool RunTensorReader::read_data(const JsonNode& node, const JsonNode& data, const KeyPath& parent,
                                RunTensor& tensor) {
  const KeyPath path = parent.key("data");
  if (data.type() != JsonType::string) return fields_.wrong_type(data, path, "a string");
  if (data.text().empty() || data.text().find('\0') != std::string_view::npos)
    return fields_.refuse(data, path, "the name of a file is expected");
  tensor.file = data.text()[0] == '/' ? std::string(data.text()) : directory_ + std::string(data.text());
  MappedFile file;
  if (!file.open(tensor.file)) return fields_.refuse(data, path, file.error());
  if (data.text().ends_with(".npy")) return read_npy(node, data, parent, file.bytes(), tensor);

  const std::uint64_t file_bytes = file.bytes().size();
  std::uint64_t needed = 0;
  if (!need_bytes(node, parent, tensor, needed)) return false;
  if (file_bytes < needed)
    return fields_.refuse(data, path,
                          tensor.file + " has " + std::to_string(file_bytes) +
                              " bytes, and dtype and shape need " + std::to_string(needed));
  tensor.bytes = file_bytes;
  return true;
}

bool RunTensorReader::read_npy(const JsonNode& node, const JsonNode& data, const KeyPath& parent, Bytes file,
                               RunTensor& tensor) {
  const KeyPath path = parent.key("data");
  NpyFile npy;
  std::string reason;
  if (!parse_npy(file.first(std::min<std::size_t>(file.size(), kMostNpyHeadBytes)), npy, reason))
    return fields_.refuse(data, path, tensor.file + ": " + reason);
  if (!npy.form.is_plain())
    return fields_.refuse(data, path,
                          tensor.file +
                              ": the array is in Fortran order or not little-endian: store "
                              "numpy.ascontiguousarray(array, array.dtype.newbyteorder('<'))");
  if (file.size() - npy.data_offset < npy.data_bytes)
    return fields_.refuse(data, path,
                          tensor.file + " ends too early: its header promises " +
                              std::to_string(npy.data_bytes) + " bytes of elements");
  if (node.member("dtype") == nullptr) {
    if (npy.dtype == DType::undefined)
      return fields_.missing(node, parent.key("dtype"), "the file holds raw items without a dtype");
    tensor.dtype = npy.dtype;
  } else if (npy.dtype != tensor.dtype && npy.form.item_bytes != 1 &&
             npy.form.item_bytes * 8 != info(tensor.dtype).bits) {
    return fields_.refuse(*node.member("dtype"), parent.key("dtype"),
                          "the file holds '" + npy.descr + "': elements of another size");
  }
  if (node.member("shape") == nullptr) tensor.shape = npy.shape;
  std::uint64_t needed = 0;
  if (!count_bytes(node, parent, tensor, needed)) return false;
  if (needed != npy.data_bytes)
    return fields_.refuse(data, path,
                          tensor.file + " holds " + std::to_string(npy.data_bytes) +
                              " bytes of elements, and dtype and shape need " + std::to_string(needed));
  tensor.bytes = npy.data_bytes;
  tensor.file_offset = npy.data_offset;
  return true;
}

using config::JsonNode;
using config::KeyPath;

bool RunFaultReader::read(const JsonNode& node, const KeyPath& path, RunFault& fault) {
  constexpr std::array<std::string_view, 8> kKeys = {"step",   "model",  "op",     "kind",
                                                     "status", "victim", "offset", "bytes"};
  constexpr std::array<std::string_view, 4> kKinds = {"overflow", "nan", "exception", "trample"};
  constexpr std::uint64_t kDefaultStatus = 0x20;
  std::size_t kind = 0;
  fault.status = kDefaultStatus;
  if (!fields_.check_object(node, path, kKeys) || !fields_.read_number(node, path, "step", fault.step) ||
      !fields_.read_word(node, path, "kind", kKinds, kind) ||
      !fields_.read_number(node, path, "status", fault.status) ||
      !fields_.read_number(node, path, "offset", fault.offset) ||
      !fields_.read_number(node, path, "bytes", fault.bytes))
    return false;
  if (node.member("kind") == nullptr)
    return fields_.missing(node, path.key("kind"), "one of " + config::listed(kKinds));
  fault.kind = static_cast<RunFault::Kind>(kind);
  return check_step(node, path, fault) && find_model(node, path, fault.model) &&
         find_op(node, path, "op", run_.models[fault.model], fault.op) &&
         (fault.kind != RunFault::Kind::nan || check_floats(node, path, fault)) &&
         (fault.kind != RunFault::Kind::trample || check_victim(node, path, fault));
}

bool RunFaultReader::check_step(const JsonNode& node, const KeyPath& path, const RunFault& fault) {
  const JsonNode* const step = node.member("step");
  if (step == nullptr || fault.step < run_.steps) return true;
  const std::string steps = ", as \"steps\" is " + std::to_string(run_.steps);
  return fields_.refuse(
      *step, path.key("step"),
      (run_.steps == 0 ? "no step is run" : "the last step is " + std::to_string(run_.steps - 1)) + steps);
}

bool RunFaultReader::find_model(const JsonNode& node, const KeyPath& path, std::size_t& index) {
  std::string_view name;
  if (!fields_.read_text(node, path, "model", name)) return false;
  if (run_.models.empty()) return fields_.refuse(node, path, "there is no model to go wrong");
  const auto found = std::find_if(run_.models.begin(), run_.models.end(),
                                  [&](const RunModel& model) { return name.empty() || model.name == name; });
  if (found == run_.models.end())
    return fields_.refuse(*node.member("model"), path.key("model"),
                          "no model is called " + config::in_quotes(name));
  index = static_cast<std::size_t>(found - run_.models.begin());
  return true;
}

bool RunFaultReader::find_op(const JsonNode& node, const KeyPath& path, std::string_view key,
                             const RunModel& model, std::size_t& index) {
  std::string_view name;
  if (node.member(key) == nullptr) return fields_.missing(node, path.key(key), "the name of an operator");
  if (!fields_.read_text(node, path, key, name)) return false;
  const auto found =
      std::find_if(model.ops.begin(), model.ops.end(), [&](const RunOp& op) { return op.desc.name == name; });
  if (found == model.ops.end())
    return fields_.refuse(
        *node.member(key), path.key(key),
        "no operator of " + config::in_quotes(model.name) + " is called " + config::in_quotes(name));
  index = static_cast<std::size_t>(found - model.ops.begin());
  return true;
}

bool RunFaultReader::check_floats(const JsonNode& node, const KeyPath& path, const RunFault& fault) {
  for (const RunTensor& output : run_.models[fault.model].ops[fault.op].outputs) {
    if (can_be_non_finite(output.dtype) && output.bytes != 0) return true;
  }
  return fields_.refuse(*node.member("op"), path.key("op"), "has no output of a floating-point dtype");
}

bool RunFaultReader::check_victim(const JsonNode& node, const KeyPath& path, RunFault& fault) {
  const RunModel& model = run_.models[fault.model];
  if (!find_op(node, path, "victim", model, fault.victim)) return false;
  const std::vector<RunTensor>& outputs = model.ops[fault.victim].outputs;
  const std::uint64_t bytes = outputs.empty() ? 0 : outputs[0].bytes;
  if (fault.bytes != 0 && fault.offset < bytes && fault.bytes <= bytes - fault.offset) return true;
  return fields_.refuse(*node.member("victim"), path.key("victim"),
                        "its first output has " + std::to_string(bytes) +
                            " bytes, and \"offset\" and \"bytes\" have to lie within");
}

}  // namespace opdump::tool
