#include "src/tool/judge/diverge/replay_model.hpp"

#include <algorithm>
#include <charconv>
#include <limits>
#include <optional>

#include "src/config/json/json_tree.hpp"
#include "src/config/refusal.hpp"
#include "src/tool/cli/messages.hpp"
#include "src/tool/judge/compare/healthy_error.hpp"
#include "src/tool/read/card/model_file.hpp"
#include "src/tool/read/card/onnx_tensor.hpp"
#include "src/tool/read/dump/record_name.hpp"

namespace opdump::tool {
namespace {

/// Source: the operators of CANN (AddV2, RealDiv, ...) and of TensorFlow Lite (LOGISTIC, ...).
constexpr std::string_view kMapped =
    " ABS=Abs ADD=Add AddV2=Add CEIL=Ceil COS=Cos DIV=Div EXP=Exp FLOOR=Floor GREATER=Greater"
    " GREATER_EQUAL=GreaterOrEqual GreaterEqual=GreaterOrEqual LESS=Less LESS_EQUAL=LessOrEqual LOG=Log"
    " LOGISTIC=Sigmoid LessEqual=LessOrEqual LogicalAnd=And LogicalNot=Not LogicalOr=Or MAXIMUM=Max"
    " MINIMUM=Min MUL=Mul Maximum=Max Minimum=Min NEG=Neg POW=Pow RELU=Relu ROUND=Round RealDiv=Div"
    " ReluV2=Relu SIN=Sin SOFTMAX=Softmax SQRT=Sqrt SUB=Sub TANH=Tanh ";

/// Types of ONNX without attributes that mean the same wherever they are.
constexpr std::string_view kSame =
    " Abs Acos Acosh Add And Asin Asinh Atan Atanh Ceil Cos Cosh Div Equal Erf Exp Expand Floor Greater"
    " GreaterOrEqual HardSwish Identity IsNaN Less LessOrEqual Log Max Min Mish Mul Neg Not Or Pow"
    " Reciprocal Relu Round Sigmoid Sign Sin Sinh Size Softplus Softsign Sqrt Sub Tan Tanh Where Xor"
    " DynamicQuantizeLinear MatMulInteger QLinearMatMul ";

/// The opset whose meaning those operators have.
constexpr std::uint64_t kMappedOpset = 17;

/// What ONNX calls an operator that CANN, TensorFlow Lite or another runtime calls `type`, and that needs neither
/// attributes nor a layout to be computed; empty: it is not known as one. A type of ONNX is its own name.
std::string_view onnx_type_of(std::string_view type) {
  if (has_word(kSame, type)) return type;
  const std::string start = ' ' + std::string(type) + '=';
  const std::size_t at =
      type.find_first_of(" =") == std::string_view::npos ? kMapped.find(start) : std::string_view::npos;
  if (at == std::string_view::npos) return {};
  const std::string_view onnx = kMapped.substr(at + start.size());
  return onnx.substr(0, onnx.find(' '));
}

/// Source: ONNX's operators.
bool is_real(std::string_view name) {
  constexpr std::string_view kNames =
      " activation_alpha activation_beta alpha beta bias clip cubic_coeff_a epsilon extrapolation_value"
      " gamma high lambd low max mean min momentum norm_coefficient ratio scale scales spatial_scale"
      " threshold value value_float value_floats ";
  return has_word(kNames, name);
}

template <class Number>
std::optional<Number> number_of(std::string_view text) {
  Number number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc{} && end == text.data() + text.size() ? std::optional(number) : std::nullopt;
}

/// Infinities and NaN are texts, as JSON has no such numbers.
std::optional<float> real_of(std::string_view text) {
  if (text == "inf") return std::numeric_limits<float>::infinity();
  if (text == "-inf") return -std::numeric_limits<float>::infinity();
  if (text == "nan") return std::numeric_limits<float>::quiet_NaN();
  return number_of<float>(text);
}

bool read_list(std::string_view name, std::string_view text, ReplayValue& to) {
  ConfigError error;
  config::Refusal refusal(text, error);
  config::JsonTree tree;
  if (!tree.parse(text, refusal) || tree.root().type() != config::JsonType::array) return false;
  std::vector<std::int64_t> integers;
  std::vector<float> reals;
  std::vector<std::string> texts;
  std::size_t count = 0;
  for (const config::JsonNode* node = tree.root().first(); node != nullptr; node = node->next(), ++count) {
    const bool is_text = node->type() == config::JsonType::string;
    const std::string_view rest = text.substr(node->offset());
    const std::string_view item = is_text ? node->text() : rest.substr(0, rest.find_first_of(",] \n\t\r"));
    if (is_text) texts.emplace_back(item);
    if (const auto integer = number_of<std::int64_t>(item)) integers.push_back(*integer);
    if (const auto real = real_of(item)) reals.push_back(*real);
  }
  if (!is_real(name) && integers.size() == count) {
    to = std::move(integers);
  } else if (reals.size() == count) {
    to = std::move(reals);
  } else {
    to = std::move(texts);
    return std::get<std::vector<std::string>>(to).size() == count;
  }
  return true;
}

/// Reads an attribute of a card: JSON, or the text of a JSON string. JSON does not tell 1 from 1.0, so a
/// table of names tells which attributes of ONNX are floats. False where it is no value of ONNX.
bool read_card_attribute(std::string_view name, std::string_view value, ReplayAttribute& to) {
  to.name = name;
  if (value.starts_with('[')) return read_list(name, value, to.value);
  if (value.starts_with('{')) return false;
  const std::optional<float> real = real_of(value);
  const std::optional<std::int64_t> integer = number_of<std::int64_t>(value);
  if (is_real(name) && real) {
    to.value = *real;
  } else if (integer) {
    to.value = *integer;
  } else if (const auto number = number_of<float>(value)) {
    to.value = *number;
  } else {
    to.value = std::string(value);
  }
  return true;
}

constexpr std::string_view kSubgraph = "it runs a graph of its own, which is not computed";

/// The message goes to the reference as it stands; numbers say how many terms a sum has.
bool read_attribute(Bytes message, ReplayAttribute& to, std::string& problem) {
  OnnxAttribute read;
  if (!read_onnx_attribute(message, read)) return false;
  to.name = read.name;
  to.message = as_text(message);
  if (read.type == OnnxAttributeType::integer) to.value = read.integer();
  if (read.type == OnnxAttributeType::integers) to.value = std::move(read.integers);
  if (read.type == OnnxAttributeType::graph || read.type == OnnxAttributeType::graphs) problem = kSubgraph;
  return true;
}

/// Of TensorFlow Lite: its operators have them also where they are not used.
bool changes_nothing(const OpAttribute& attribute) {
  return (attribute.name == "fused_activation_function" && attribute.value == "NONE") ||
         (attribute.name == "beta" && attribute.value == "1");
}

}  // namespace

bool ReplayModel::load(const std::string& path, std::string_view command) {
  path_ = path;
  teller_ = "opdump " + std::string(command) + ": ";
  if (file_.open(path) && is_onnx(file_.bytes())) return load_onnx();
  RunFile card;
  if (!load_or_say(path, card)) return false;
  for (const RunModel& model : card.models) load_card(model);
  index();
  return true;
}

bool ReplayModel::load_onnx() {
  cards::ModelCard card;
  OnnxDetails details;
  std::string reason;
  bool good = read_onnx(file_.bytes(), {}, card, reason, &details);
  if (file_.cut_short()) {
    say(teller_ + file_.error());
    return false;
  }
  for (std::size_t i = 0; good && i < card.ops.size(); ++i) {
    const cards::CardOp& op = card.ops[i];
    ReplayNode& node = nodes_.emplace_back();
    node.name = op.name;
    node.type = node.dumped_type = op.type;
    node.domain = op.domain;
    const auto opset = details.opsets.find(op.domain);
    node.opset = opset == details.opsets.end() ? 1 : opset->second;
    for (const std::uint32_t input : op.inputs) {
      node.inputs.push_back(input == cards::CardOp::kNoTensor ? "" : card.tensors[input].name);
      node.is_constant.push_back(input != cards::CardOp::kNoTensor && card.tensors[input].constant);
    }
    std::size_t next = 0;
    for (const bool named : details.outputs[i])
      node.outputs.push_back(named ? card.tensors[op.outputs[next++]].name : std::string());
    for (const Bytes message : details.attributes[i]) {
      ReplayAttribute attribute;
      good = good && read_attribute(message, attribute, node.problem);
      node.attributes.push_back(std::move(attribute));
    }
    if (!good) reason = "is damaged: an attribute of operator " + op.name + " is cut short";
  }
  if (!good) {
    say(teller_ + path_ + ": " + reason);
    return false;
  }
  for (const auto& [place, message] : details.constants) constants_[card.tensors[place].name] = message;
  index();
  return true;
}

void ReplayModel::load_card(const RunModel& model) {
  for (const RunOp& op : model.ops) {
    ReplayNode& node = nodes_.emplace_back();
    node.name = op.desc.name;
    node.dumped_type = op.desc.type;
    node.task = op.desc.task_id;
    node.type = op.onnx.op.empty() ? onnx_type_of(op.desc.type) : op.onnx.op;
    node.domain = op.onnx.domain;
    node.opset = op.onnx.op.empty() ? kMappedOpset : std::max<std::uint64_t>(op.onnx.opset, 1);
    for (const RunTensor& input : op.inputs) {
      // One without a name is given all the same where the card tells its size.
      node.inputs.push_back(input.name.empty() && input.sized
                                ? node.name + " input " + std::to_string(node.inputs.size())
                                : std::string(input.name));
      node.is_constant.push_back(input.is_constant);
    }
    for (const RunTensor& output : op.outputs) node.outputs.emplace_back(output.name);
    const auto is_quantised = [](const RunTensor& tensor) {
      return tensor.quant.scheme != QuantScheme::none;
    };
    if (op.onnx.op.empty() && (std::any_of(op.inputs.begin(), op.inputs.end(), is_quantised) ||
                               std::any_of(op.outputs.begin(), op.outputs.end(), is_quantised)))
      node.problem = "its integers stand for real numbers, which only operators of ONNX compute with";
    if (node.type.empty())
      node.problem =
          "what " + std::string(op.desc.type) + " computes is not known: the card tells no type of ONNX";
    if (std::find(op.flags.begin(), op.flags.end(), "control_flow") != op.flags.end())
      node.problem = kSubgraph;
    for (const OpAttribute& given : op.attributes) {
      ReplayAttribute attribute;
      if (op.onnx.op.empty() && changes_nothing(given)) continue;
      if (!read_card_attribute(given.name, given.value, attribute))
        node.problem = "attribute '" + std::string(given.name) + "' of the card is no value of ONNX";
      node.attributes.push_back(std::move(attribute));
    }
  }
}

/// Operators are found by their own names, then by those of their outputs.
void ReplayModel::index() {
  for (std::size_t i = 0; i < nodes_.size(); ++i) places_[sanitised(nodes_[i].name)].push_back(i);
  std::unordered_map<std::string, std::vector<std::size_t>> by_output;
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    for (const std::string& output : nodes_[i].outputs) {
      if (!output.empty()) by_output[sanitised(output)].push_back(i);
    }
  }
  places_.merge(by_output);
}

OpDesc ReplayModel::desc_of(std::size_t i) const {
  return {.type = nodes_[i].dumped_type, .task_id = nodes_[i].task};
}

void ReplayModel::check_task(const OpIdentity& record) const {
  const auto found = places_.find(std::string(record.name));
  if (found == places_.end()) return;
  other_tasks_ |= has_other_task(found->second, record, [this](std::size_t i) { return desc_of(i); });
}

const ReplayNode* ReplayModel::node(const OpIdentity& identity) const {
  const auto found = places_.find(std::string(identity.name));
  if (found == places_.end()) return nullptr;
  OpIdentity known = identity;
  if (other_tasks_) known.task.reset();
  const std::optional<std::size_t> place =
      only_one(found->second, known, [this](std::size_t i) { return desc_of(i); });
  return place ? &nodes_[*place] : nullptr;
}

const ReplayNode* ReplayModel::only_reader(const std::string& tensor) const {
  const ReplayNode* reader = nullptr;
  for (const ReplayNode& node : nodes_) {
    if (tensor.empty() || std::count(node.inputs.begin(), node.inputs.end(), tensor) == 0) continue;
    if (reader != nullptr) return nullptr;
    reader = &node;
  }
  return reader;
}

bool ReplayModel::constant(const std::string& name, ReplayTensor& to, std::string& reason) const {
  OnnxTensor tensor;
  if (!read_onnx_tensor(constants_.at(name), tensor)) {
    reason = "the constant '" + name + "' is damaged, or has a dtype that is not known";
    return false;
  }
  to.name = name;
  to.dtype = tensor.dtype;
  to.dims = tensor.dims;
  if (!tensor.is_external) {
    if (tensor.dtype != DType::string && onnx_elements(tensor, to.bytes, reason)) return true;
    reason = "the constant '" + name + "': " + (tensor.dtype == DType::string ? "it holds texts" : reason);
    return false;
  }
  const Result<std::uint64_t> bytes = packed_bytes(tensor.dtype, tensor.dims);
  const std::size_t slash = path_.rfind('/');
  const std::string path =
      (slash == std::string::npos ? "" : path_.substr(0, slash + 1)) + std::string(tensor.location);
  const bool elsewhere = tensor.location.empty() || tensor.location.starts_with('/') ||
                         tensor.location.find("..") != std::string_view::npos ||
                         tensor.location.find('\0') != std::string_view::npos;
  MappedFile file;
  if (elsewhere) {
    reason = "the constant '" + name + "' lies in a file outside the model's directory";
  } else if (!file.open(path)) {
    reason = "the constant '" + name + "': " + file.error();
  } else if (!bytes.ok() || tensor.offset > file.bytes().size() ||
             file.bytes().size() - tensor.offset < bytes.value()) {
    reason = "the constant '" + name + "': " + path + " ends before its last element";
  } else {
    const Bytes found = file.bytes().subspan(static_cast<std::size_t>(tensor.offset),
                                             static_cast<std::size_t>(bytes.value()));
    to.bytes.assign(found.begin(), found.end());
    if (!file.cut_short()) return true;
    reason = file.error();
  }
  return false;
}

}  // namespace opdump::tool
