#include "src/tool/read/card/tflite_file.hpp"

#include <algorithm>
#include <iterator>
#include <span>
#include <string_view>

#include "src/card/attribute_json.hpp"
#include "src/tool/read/card/card_budget.hpp"
#include "src/tool/read/card/flat_table.hpp"
#include "src/tool/read/card/tflite_operators.hpp"

namespace opdump::tool {

using namespace cards;

namespace {

DType dtype_of_tflite(std::uint8_t type) {
  constexpr DType kDTypes[] = {DType::float32,   DType::float16,       DType::int32,      DType::uint8,
                               DType::int64,     DType::string,        DType::boolean,    DType::int16,
                               DType::complex64, DType::int8,          DType::float64,    DType::complex128,
                               DType::uint64,    DType::resource,      DType::variant,    DType::uint32,
                               DType::uint16,    DType::int4,          DType::bfloat16,   DType::int2,
                               DType::uint4,     DType::float8_e4m3fn, DType::float8_e5m2};
  return type < std::size(kDTypes) ? kDTypes[type] : DType::undefined;
}

enum class OptionKind : std::uint8_t { integer, byte, real, flag, padding, activation, integers };

/// A field of an operator's options.
struct OptionField {
  std::string_view name;
  std::uint32_t field;
  OptionKind kind;
  std::int32_t otherwise = 0;
};

using enum OptionKind;
constexpr OptionField kConv2D[] = {{"padding", 0, padding},
                                   {"stride_w", 1, integer},
                                   {"stride_h", 2, integer},
                                   {"fused_activation_function", 3, activation},
                                   {"dilation_w_factor", 4, integer, 1},
                                   {"dilation_h_factor", 5, integer, 1}};
constexpr OptionField kDepthwiseConv2D[] = {{"padding", 0, padding},
                                            {"stride_w", 1, integer},
                                            {"stride_h", 2, integer},
                                            {"depth_multiplier", 3, integer},
                                            {"fused_activation_function", 4, activation},
                                            {"dilation_w_factor", 5, integer, 1},
                                            {"dilation_h_factor", 6, integer, 1}};
constexpr OptionField kPool2D[] = {
    {"padding", 0, padding},       {"stride_w", 1, integer},
    {"stride_h", 2, integer},      {"filter_width", 3, integer},
    {"filter_height", 4, integer}, {"fused_activation_function", 5, activation}};
constexpr OptionField kFullyConnected[] = {{"fused_activation_function", 0, activation},
                                           {"weights_format", 1, byte},
                                           {"keep_num_dims", 2, flag},
                                           {"asymmetric_quantize_inputs", 3, flag}};
constexpr OptionField kSoftmax[] = {{"beta", 0, real}};
constexpr OptionField kConcatenation[] = {{"axis", 0, integer}, {"fused_activation_function", 1, activation}};
constexpr OptionField kActivation[] = {{"fused_activation_function", 0, activation}};
constexpr OptionField kReshape[] = {{"new_shape", 0, integers}};
constexpr OptionField kReducer[] = {{"keep_dims", 0, flag}};

/// The fields of the options of this number in the union BuiltinOptions; empty: they are not read.
std::span<const OptionField> option_fields(std::uint8_t type) {
  switch (type) {
    case 1:
      return kConv2D;
    case 2:
      return kDepthwiseConv2D;
    case 5:
      return kPool2D;
    case 8:
      return kFullyConnected;
    case 9:
      return kSoftmax;
    case 10:
      return kConcatenation;
    case 11:  // addition
    case 21:  // multiplication
    case 28:  // subtraction
    case 29:  // division
      return kActivation;
    case 17:
      return kReshape;
    case 27:
      return kReducer;
    default:
      return {};
  }
}

class TfliteReader {
 public:
  TfliteReader(Bytes bytes, ModelCard& card) : file_(bytes), card_(card) {}

  bool read(std::string& reason) {
    const FlatTable model(file_, file_.follow(0));
    const FlatVector graphs = model.vector(2, 4);
    if (file_.good() && graphs.count == 0) {
      reason = "has no subgraph";
      return false;
    }
    if (file_.good()) read_codes(model);
    if (file_.good()) buffers_ = model.vector(4, 4);
    if (file_.good()) read_graph(model, model.element(graphs, 0));
    card_.made_by = file_.good() ? model.text(3) : std::string_view();
    if (!file_.good()) {
      reason = budget_.is_spent() ? "describes more than 8388608 operators, tensors, dims and scales"
                                  : "is damaged: " + what_ + " lies outside of the file";
    }
    return file_.good();
  }

 private:
  void read_codes(const FlatTable& model) {
    what_ = "the list of operator codes";
    const FlatVector codes = model.vector(1, 4);
    for (std::uint32_t i = 0; file_.good() && i < codes.count; ++i) {
      const FlatTable code = model.element(codes, i);
      // Old files have the small number alone, new ones both.
      const std::uint32_t number =
          std::max<std::uint32_t>(code.number<std::uint8_t>(0), code.number<std::uint32_t>(3));
      const std::string_view name =
          number == kTfliteCustom && code.has(1) ? code.text(1) : tflite_operator(number);
      if (!budget_.take(1 + name.size() / 16)) return file_.fail();
      types_.push_back(name.empty() ? "BUILTIN_" + std::to_string(number) : std::string(name));
    }
  }

  void read_graph(const FlatTable& model, const FlatTable& graph) {
    card_.graph_name = graph.text(4);
    const FlatVector tensors = graph.vector(0, 4);
    for (std::uint32_t i = 0; file_.good() && i < tensors.count; ++i) {
      what_ = "tensor " + std::to_string(i);
      read_tensor(model, graph.element(tensors, i));
    }
    const FlatVector ops = graph.vector(3, 4);
    for (std::uint32_t i = 0; file_.good() && i < ops.count; ++i) {
      what_ = "operator " + std::to_string(i);
      read_op(graph.element(ops, i));
    }
  }

  void read_tensor(const FlatTable& model, const FlatTable& from) {
    CardTensor& tensor = card_.tensors.emplace_back();
    tensor.name = from.text(3);
    tensor.dtype = dtype_of_tflite(from.number<std::uint8_t>(1));
    FlatVector shape = from.vector(0, 4);
    const FlatVector signature = from.vector(7, 4);
    tensor.has_shape = shape.count != 0 || from.number<std::uint8_t>(8) != 0;
    if (signature.count == shape.count && signature.count != 0) shape = signature;
    if (shape.count > kMaxRank || !budget_.take(1 + shape.count + tensor.name.size() / 16))
      return file_.fail();
    for (std::uint32_t i = 0; i < shape.count; ++i) {
      const std::int32_t dim = from.element_number<std::int32_t>(shape, i);
      tensor.shape.push_back(dim < 0 ? CardTensor::kUnknownDim : static_cast<Dim>(dim));
    }
    const std::uint32_t buffer = from.number<std::uint32_t>(2);
    if (buffer >= buffers_.count && buffer != 0) return file_.fail();
    tensor.constant = buffer != 0 && model.element(buffers_, buffer).vector(0, 1).count != 0;
    // A scalar constant has no dims either.
    tensor.has_shape |= tensor.constant;
    read_quant(from.table(4), tensor.quant);
  }

  void read_quant(const FlatTable& from, Quantisation& quant) {
    const FlatVector scales = from.vector(2, 4);
    const FlatVector zero_points = from.vector(3, 8);
    if (!budget_.take(scales.count)) return file_.fail();
    if (scales.count != 0) quant.scheme = QuantScheme::affine;
    for (std::uint32_t i = 0; i < scales.count; ++i)
      quant.scales.push_back(from.element_number<float>(scales, i));
    for (std::uint32_t i = 0; zero_points.count == scales.count && i < zero_points.count; ++i)
      quant.zero_points.push_back(from.element_number<std::int64_t>(zero_points, i));
    if (scales.count > 1) quant.axis = from.number<std::int32_t>(6);
  }

  void read_op(const FlatTable& from) {
    CardOp op;
    const std::uint32_t code = from.number<std::uint32_t>(0);
    if (code >= types_.size() || !budget_.take(1)) return file_.fail();
    op.type = types_[code];
    if (!budget_.take(op.type.size() / 16)) return file_.fail();
    read_places(from, from.vector(1, 4), op.inputs);
    read_places(from, from.vector(2, 4), op.outputs);
    std::erase(op.outputs, CardOp::kNoTensor);
    op.name = op.outputs.empty() ? op.type : card_.tensors[op.outputs[0]].name;
    if (op.name.empty()) op.name = op.type;
    if (!budget_.take(op.name.size() / 16)) return file_.fail();
    const FlatTable options = from.table(4);
    for (const OptionField& field : option_fields(from.number<std::uint8_t>(3)))
      read_option(options, field, op);
    if (op.type == "IF" || op.type == "WHILE" || op.type == "CALL_ONCE")
      op.flags.emplace_back("control_flow");
    op.task_id = static_cast<std::uint32_t>(card_.ops.size());
    card_.ops.push_back(std::move(op));
  }

  void read_places(const FlatTable& from, const FlatVector& of, std::vector<std::uint32_t>& places) {
    if (!budget_.take(of.count)) return file_.fail();
    for (std::uint32_t i = 0; i < of.count; ++i) {
      const std::int32_t place = from.element_number<std::int32_t>(of, i);
      if (place >= static_cast<std::int64_t>(card_.tensors.size())) return file_.fail();
      places.push_back(place < 0 ? CardOp::kNoTensor : static_cast<std::uint32_t>(place));
    }
  }

  void read_option(const FlatTable& options, const OptionField& field, CardOp& op) {
    constexpr std::string_view kPaddings[] = {"SAME", "VALID"};
    constexpr std::string_view kActivations[] = {"NONE", "RELU", "RELU_N1_TO_1", "RELU6", "TANH", "SIGN_BIT"};
    std::string json;
    switch (field.kind) {
      case integer:
        json = json_of(std::int64_t{options.number<std::int32_t>(field.field, field.otherwise)});
        break;
      case byte:
        json = json_of(std::int64_t{options.number<std::uint8_t>(field.field)});
        break;
      case real:
        json = json_of(options.number<float>(field.field));
        break;
      case flag:
        json = options.number<std::uint8_t>(field.field) != 0 ? "true" : "false";
        break;
      case padding:
      case activation: {
        const std::span<const std::string_view> words =
            field.kind == padding ? std::span<const std::string_view>(kPaddings) : kActivations;
        const std::uint8_t word = options.number<std::uint8_t>(field.field);
        json = word < words.size() ? json_of(words[word]) : json_of(std::int64_t{word});
        break;
      }
      case integers: {
        const FlatVector of = options.vector(field.field, 4);
        if (!budget_.take(of.count)) return file_.fail();
        std::vector<std::int64_t> numbers;
        for (std::uint32_t i = 0; i < of.count; ++i)
          numbers.push_back(options.element_number<std::int32_t>(of, i));
        json = json_of(numbers);
      }
    }
    op.attributes.push_back({std::string(field.name), std::move(json)});
  }

  FlatFile file_;
  ModelCard& card_;
  CardBudget budget_;
  std::string what_ = "the model";
  FlatVector buffers_;
  std::vector<std::string> types_;  ///< by operator code
};

}  // namespace

bool is_tflite(Bytes file) {
  constexpr std::size_t kMarkOffset = 4;
  constexpr std::string_view kMark = "TFL3";
  return file.size() >= kMarkOffset + kMark.size() &&
         as_text(file.subspan(kMarkOffset, kMark.size())) == kMark;
}

bool read_tflite(Bytes file, ModelCard& card, std::string& reason) {
  return TfliteReader(file, card).read(reason);
}

}  // namespace opdump::tool
