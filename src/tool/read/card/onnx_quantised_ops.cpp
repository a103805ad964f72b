#include "src/tool/read/card/onnx_quantised_ops.hpp"

#include <algorithm>
#include <cstdlib>
#include <string_view>

namespace opdump::tool {

using cards::CardAttribute;
using cards::CardOp;

namespace {

/// Elements are moved, left out, repeated, or compared with each other.
constexpr std::string_view kPassOneOn[] = {
    "Clip",     "Compress", "DepthToSpace", "Expand",          "Flatten",  "Gather",       "GatherElements",
    "GatherND", "Identity", "MaxPool",      "NhwcMaxPool",     "Pad",      "ReduceMax",    "ReduceMin",
    "Relu",     "Reshape",  "Resize",       "ReverseSequence", "Slice",    "SpaceToDepth", "Split",
    "Squeeze",  "Tile",     "Transpose",    "Trilu",           "Unsqueeze"};

/// Each index of an axis stays at the same one.
constexpr std::string_view kKeepAxes[] = {"Clip", "Identity", "MaxPool", "Relu"};

constexpr std::string_view kOfOneTensor[] = {"QLinearAveragePool", "QLinearGlobalAveragePool",
                                             "QLinearLeakyRelu",   "QLinearReduceMean",
                                             "QLinearSigmoid",     "QLinearSoftmax"};

template <std::size_t kCount>
bool is_one_of(const std::string_view (&types)[kCount], std::string_view type) {
  return std::find(std::begin(types), std::end(types), type) != std::end(types);
}

const CardAttribute* attribute_of(const CardOp& op, std::string_view name) {
  const auto found = std::find_if(op.attributes.begin(), op.attributes.end(),
                                  [&](const CardAttribute& each) { return each.name == name; });
  return found == op.attributes.end() ? nullptr : &*found;
}

std::int64_t integer_of(const CardOp& op, std::string_view name, std::int64_t without) {
  const CardAttribute* const found = attribute_of(op, name);
  return found == nullptr ? without : std::atoll(found->json.c_str());
}

/// The axis of the input for each of the output's; empty: the model does not say.
std::vector<std::int64_t> permutation_of(const CardOp& op) {
  std::vector<std::int64_t> axes;
  const CardAttribute* const found = attribute_of(op, "perm");
  if (found == nullptr) return axes;
  for (const char* at = found->json.c_str(); *at != '\0';) {
    char* end = nullptr;
    const long long axis = std::strtoll(at, &end, 10);
    if (end != at) axes.push_back(axis);
    at = end == at ? at + 1 : end;
  }
  return axes;
}

class OpInputs {
 public:
  explicit OpInputs(const CardOp& op) : op_(op) {}

  std::uint32_t at(std::size_t i) const { return i < op_.inputs.size() ? op_.inputs[i] : CardOp::kNoTensor; }

  QuantisedTensor scaled(std::uint32_t tensor, std::size_t scale, std::int64_t axis = 0) const {
    return {.tensor = tensor, .scale = at(scale), .zero_point = at(scale + 1), .axis = axis};
  }

  /// Scale and zero point are the next two inputs.
  QuantisedTensor scaled_input(std::size_t i, std::int64_t axis = 0) const {
    return scaled(at(i), i + 1, axis);
  }

  QuantisedTensor scaled_output(std::size_t scale, std::int64_t axis = 0) const {
    return scaled(op_.outputs.empty() ? CardOp::kNoTensor : op_.outputs[0], scale, axis);
  }

 private:
  const CardOp& op_;
};

/// QLinear operators and QGemm.
QuantisingOp of_quantised(const CardOp& op) {
  const OpInputs in(op);
  if (op.type == "QLinearConv")
    return {.reads = {in.scaled_input(0), in.scaled_input(3, 0)}, .writes = in.scaled_output(6)};
  if (op.type == "QLinearMatMul")
    return {.reads = {in.scaled_input(0, -2), in.scaled_input(3, -1)}, .writes = in.scaled_output(6, -2)};
  if (op.type == "QLinearAdd" || op.type == "QLinearMul")
    return {.reads = {in.scaled_input(0), in.scaled_input(3)}, .writes = in.scaled_output(6)};
  if (op.type == "QLinearWhere")
    return {.reads = {in.scaled_input(1), in.scaled_input(4)}, .writes = in.scaled_output(7)};
  if (op.type == "QLinearConcat") {
    QuantisingOp found{.writes = in.scaled_output(0)};
    for (std::size_t i = 2; i < op.inputs.size(); i += 3) found.reads.push_back(in.scaled_input(i));
    return found;
  }
  if (op.type == "QGemm") {
    const bool second_transposed = integer_of(op, "transB", 0) != 0;
    QuantisingOp found{.reads = {in.scaled_input(0), in.scaled_input(3, second_transposed ? 0 : 1)}};
    if (in.at(7) != CardOp::kNoTensor) found.writes = in.scaled_output(7);
    return found;
  }
  if (is_one_of(kOfOneTensor, op.type)) return {.reads = {in.scaled_input(0)}, .writes = in.scaled_output(3)};
  return {.writes = QuantisedTensor{.tensor = in.scaled_output(0).tensor}};
}

std::vector<std::uint32_t> passed_on(const CardOp& op) {
  const OpInputs in(op);
  if (is_one_of(kPassOneOn, op.type)) return {in.at(0)};
  if (op.type == "Concat" || op.type == "Max" || op.type == "Min") return op.inputs;
  if (op.type == "Where") return {in.at(1), in.at(2)};
  if (op.type == "ScatterElements" || op.type == "ScatterND") return {in.at(0), in.at(2)};
  return {};
}

}  // namespace

QuantisingOp quantising_op(const CardOp& op) {
  if (!op.domain.empty() && op.domain != "com.microsoft") return {};
  const OpInputs in(op);
  if (op.type == "QuantizeLinear" || op.type == "DequantizeLinear") {
    const bool writes = op.type == "QuantizeLinear";
    QuantisedTensor tensor = writes ? in.scaled_output(1) : in.scaled_input(0);
    tensor.axis = integer_of(op, "axis", 1);
    tensor.in_blocks = integer_of(op, "block_size", 0) != 0;
    return writes ? QuantisingOp{.writes = tensor} : QuantisingOp{.reads = {tensor}};
  }
  if (op.type == "DynamicQuantizeLinear")
    return {.writes = QuantisedTensor{.tensor = in.scaled_output(0).tensor}};
  if (op.type.starts_with("QLinear") || op.type == "QGemm") return of_quantised(op);
  QuantisingOp found{.passes_on = passed_on(op)};
  if (found.passes_on.empty() || op.outputs.empty()) return found;
  // But for Split's, a second output tells where elements were.
  found.passed_to = op.type == "Split" ? op.outputs : std::vector{op.outputs[0]};
  return found;
}

std::optional<std::int64_t> axis_passed_on(const CardOp& op, std::int64_t axis) {
  if (is_one_of(kKeepAxes, op.type)) return axis;
  if (op.type != "Transpose") return std::nullopt;
  const std::vector<std::int64_t> axes = permutation_of(op);
  const auto found = std::find(axes.begin(), axes.end(), axis);
  return found == axes.end() ? std::nullopt : std::optional<std::int64_t>(found - axes.begin());
}

std::optional<std::int64_t> axis_taken_from(const CardOp& op, std::int64_t axis) {
  if (is_one_of(kKeepAxes, op.type)) return axis;
  if (op.type != "Transpose") return std::nullopt;
  const std::vector<std::int64_t> axes = permutation_of(op);
  return static_cast<std::size_t>(axis) < axes.size() ? std::optional(axes[static_cast<std::size_t>(axis)])
                                                      : std::nullopt;
}

}  // namespace opdump::tool
