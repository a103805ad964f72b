#include "src/tool/judge/diverge/replay_model.hpp"

#include <algorithm>

#include "src/tool/cli/messages.hpp"
#include "src/tool/judge/diverge/card_attribute.hpp"
#include "src/tool/judge/diverge/onnx_types.hpp"
#include "src/tool/read/card/model_file.hpp"
#include "src/tool/read/card/onnx_tensor.hpp"
#include "src/tool/read/dump/record_name.hpp"

namespace opdump::tool {
namespace {

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

const ReplayNode* ReplayModel::node(const OpIdentity& identity) const {
  const auto found = places_.find(std::string(identity.name));
  if (found == places_.end()) return nullptr;
  const std::optional<std::size_t> place = only_one(found->second, identity, [this](std::size_t i) {
    return OpDesc{.type = nodes_[i].dumped_type, .task_id = nodes_[i].task};
  });
  return place ? &nodes_[*place] : nullptr;
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
