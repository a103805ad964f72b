#include "src/tool/read/card/tflite_file.hpp"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <span>
#include <string_view>
#include <type_traits>

#include "opdump/base/bytes.hpp"
#include "src/card/attribute_json.hpp"
#include "src/tool/read/card/card_budget.hpp"

namespace opdump::tool {

using namespace cards;

namespace {

inline constexpr std::uint32_t kTfliteCustom = 32;

/// The names of the builtin operators of TensorFlow Lite in the order of their codes, each with a blank behind it.
inline constexpr std::string_view kTfliteOperators =
    "ADD AVERAGE_POOL_2D CONCATENATION CONV_2D DEPTHWISE_CONV_2D DEPTH_TO_SPACE DEQUANTIZE "
    "EMBEDDING_LOOKUP FLOOR FULLY_CONNECTED HASHTABLE_LOOKUP L2_NORMALIZATION L2_POOL_2D "
    "LOCAL_RESPONSE_NORMALIZATION LOGISTIC LSH_PROJECTION LSTM MAX_POOL_2D MUL RELU RELU_N1_TO_1 RELU6 "
    "RESHAPE RESIZE_BILINEAR RNN SOFTMAX SPACE_TO_DEPTH SVDF TANH CONCAT_EMBEDDINGS SKIP_GRAM CALL "
    "CUSTOM EMBEDDING_LOOKUP_SPARSE PAD UNIDIRECTIONAL_SEQUENCE_RNN GATHER BATCH_TO_SPACE_ND "
    "SPACE_TO_BATCH_ND TRANSPOSE MEAN SUB DIV SQUEEZE UNIDIRECTIONAL_SEQUENCE_LSTM STRIDED_SLICE "
    "BIDIRECTIONAL_SEQUENCE_RNN EXP TOPK_V2 SPLIT LOG_SOFTMAX DELEGATE BIDIRECTIONAL_SEQUENCE_LSTM CAST "
    "PRELU MAXIMUM ARG_MAX MINIMUM LESS NEG PADV2 GREATER GREATER_EQUAL LESS_EQUAL SELECT SLICE SIN "
    "TRANSPOSE_CONV SPARSE_TO_DENSE TILE EXPAND_DIMS EQUAL NOT_EQUAL LOG SUM SQRT RSQRT SHAPE POW "
    "ARG_MIN FAKE_QUANT REDUCE_PROD REDUCE_MAX PACK LOGICAL_OR ONE_HOT LOGICAL_AND LOGICAL_NOT UNPACK "
    "REDUCE_MIN FLOOR_DIV REDUCE_ANY SQUARE ZEROS_LIKE FILL FLOOR_MOD RANGE RESIZE_NEAREST_NEIGHBOR "
    "LEAKY_RELU SQUARED_DIFFERENCE MIRROR_PAD ABS SPLIT_V UNIQUE CEIL REVERSE_V2 ADD_N GATHER_ND COS "
    "WHERE RANK ELU REVERSE_SEQUENCE MATRIX_DIAG QUANTIZE MATRIX_SET_DIAG ROUND HARD_SWISH IF WHILE "
    "NON_MAX_SUPPRESSION_V4 NON_MAX_SUPPRESSION_V5 SCATTER_ND SELECT_V2 DENSIFY SEGMENT_SUM "
    "BATCH_MATMUL PLACEHOLDER_FOR_GREATER_OP_CODES CUMSUM CALL_ONCE BROADCAST_TO RFFT2D CONV_3D IMAG "
    "REAL COMPLEX_ABS HASHTABLE HASHTABLE_FIND HASHTABLE_IMPORT HASHTABLE_SIZE REDUCE_ALL "
    "CONV_3D_TRANSPOSE VAR_HANDLE READ_VARIABLE ASSIGN_VARIABLE BROADCAST_ARGS RANDOM_STANDARD_NORMAL "
    "BUCKETIZE RANDOM_UNIFORM MULTINOMIAL GELU DYNAMIC_UPDATE_SLICE RELU_0_TO_1 UNSORTED_SEGMENT_PROD "
    "UNSORTED_SEGMENT_MAX UNSORTED_SEGMENT_SUM ATAN2 UNSORTED_SEGMENT_MIN SIGN BITCAST BITWISE_XOR "
    "RIGHT_SHIFT STABLEHLO_LOGISTIC STABLEHLO_ADD STABLEHLO_DIVIDE STABLEHLO_MULTIPLY STABLEHLO_MAXIMUM "
    "STABLEHLO_RESHAPE STABLEHLO_CLAMP STABLEHLO_CONCATENATE STABLEHLO_BROADCAST_IN_DIM "
    "STABLEHLO_CONVOLUTION STABLEHLO_SLICE STABLEHLO_CUSTOM_CALL STABLEHLO_REDUCE STABLEHLO_ABS "
    "STABLEHLO_AND STABLEHLO_COSINE STABLEHLO_EXPONENTIAL STABLEHLO_FLOOR STABLEHLO_LOG "
    "STABLEHLO_MINIMUM STABLEHLO_NEGATE STABLEHLO_OR STABLEHLO_POWER STABLEHLO_REMAINDER "
    "STABLEHLO_RSQRT STABLEHLO_SELECT STABLEHLO_SUBTRACT STABLEHLO_TANH STABLEHLO_SCATTER "
    "STABLEHLO_COMPARE STABLEHLO_CONVERT STABLEHLO_DYNAMIC_SLICE STABLEHLO_DYNAMIC_UPDATE_SLICE "
    "STABLEHLO_PAD STABLEHLO_IOTA STABLEHLO_DOT_GENERAL STABLEHLO_REDUCE_WINDOW STABLEHLO_SORT "
    "STABLEHLO_WHILE STABLEHLO_GATHER STABLEHLO_TRANSPOSE DILATE STABLEHLO_RNG_BIT_GENERATOR "
    "REDUCE_WINDOW STABLEHLO_COMPOSITE STABLEHLO_SHIFT_LEFT STABLEHLO_CBRT STABLEHLO_CASE ";

/// The name of a builtin operator of TensorFlow Lite; empty: it is newer than this list.
constexpr std::string_view tflite_operator(std::uint32_t code) {
  std::string_view names = kTfliteOperators;
  for (; code > 0 && !names.empty(); --code) names.remove_prefix(names.find(' ') + 1);
  return names.substr(0, names.find(' '));
}

/// Reads an untrusted FlatBuffer. A place outside of the file reads as 0, and `good` becomes false.
/// Source: the FlatBuffers binary format.
class FlatFile {
 public:
  explicit FlatFile(Bytes bytes) : bytes_(bytes) {}

  bool good() const { return good_; }

  template <class Number>
  Number read(std::uint64_t at) {
    Number number{};
    if (at > bytes_.size() || bytes_.size() - at < sizeof number) {
      good_ = false;
      return number;
    }
    if constexpr (std::is_same_v<Number, float>) {
      return std::bit_cast<float>(load_little_endian<std::uint32_t>(bytes_.data() + at));
    } else {
      return static_cast<Number>(load_little_endian<std::make_unsigned_t<Number>>(bytes_.data() + at));
    }
  }

  /// Where the offset at this place leads.
  std::uint64_t follow(std::uint64_t at) { return at + read<std::uint32_t>(at); }

  std::string_view text(std::uint64_t at, std::uint64_t count) {
    if (at > bytes_.size() || bytes_.size() - at < count) {
      good_ = false;
      return {};
    }
    return as_text(bytes_.subspan(static_cast<std::size_t>(at), static_cast<std::size_t>(count)));
  }

  void fail() { good_ = false; }

 private:
  Bytes bytes_;
  bool good_ = true;
};

/// A vector of a FlatBuffer; an absent one is empty.
struct FlatVector {
  std::uint64_t at = 0;  ///< of the first element
  std::uint32_t count = 0;
};

/// A table of a FlatBuffer; an absent one has no fields.
class FlatTable {
 public:
  FlatTable(FlatFile& file, std::uint64_t at) : file_(&file), at_(at) {
    const std::int32_t back = file.read<std::int32_t>(at);
    vtable_ = static_cast<std::uint64_t>(static_cast<std::int64_t>(at) - back);
    vtable_bytes_ = file.read<std::uint16_t>(vtable_);
  }
  static FlatTable absent(FlatFile& file) { return FlatTable(file); }

  bool has(std::uint32_t field) const { return place(field) != 0; }

  template <class Number>
  Number number(std::uint32_t field, Number otherwise = {}) const {
    const std::uint64_t at = place(field);
    return at == 0 ? otherwise : file_->read<Number>(at);
  }

  FlatTable table(std::uint32_t field) const {
    const std::uint64_t at = place(field);
    return at == 0 ? absent(*file_) : FlatTable(*file_, file_->follow(at));
  }

  /// Of elements of `element_bytes` bytes; one that is longer than the file is damage.
  FlatVector vector(std::uint32_t field, std::uint64_t element_bytes) const {
    const std::uint64_t at = place(field);
    if (at == 0) return {};
    const std::uint64_t start = file_->follow(at);
    const std::uint32_t count = file_->read<std::uint32_t>(start);
    static_cast<void>(file_->text(start + 4, count * element_bytes));
    return file_->good() ? FlatVector{start + 4, count} : FlatVector{};
  }

  std::string_view text(std::uint32_t field) const {
    const FlatVector bytes = vector(field, 1);
    return file_->text(bytes.at, bytes.count);
  }

  /// Element `i` of a vector of tables.
  FlatTable element(const FlatVector& of, std::uint32_t i) const {
    return FlatTable(*file_, file_->follow(of.at + std::uint64_t{i} * 4));
  }

  template <class Number>
  Number element_number(const FlatVector& of, std::uint32_t i) const {
    return file_->read<Number>(of.at + std::uint64_t{i} * sizeof(Number));
  }

 private:
  explicit FlatTable(FlatFile& file) : file_(&file) {}

  /// 0 where the field is absent.
  std::uint64_t place(std::uint32_t field) const {
    const std::uint32_t slot = 4 + 2 * field;
    if (slot + 2 > vtable_bytes_) return 0;
    const std::uint16_t offset = file_->read<std::uint16_t>(vtable_ + slot);
    return offset == 0 ? 0 : at_ + offset;
  }

  FlatFile* file_;
  std::uint64_t at_ = 0;
  std::uint64_t vtable_ = 0;
  std::uint16_t vtable_bytes_ = 0;
};

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
