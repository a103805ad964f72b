#include "src/tool/run/run_file.hpp"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <limits>
#include <optional>
#include <span>
#include <type_traits>

#include "opdump/impl/stats/non_finite.hpp"
#include "platform/posix/impl/unique_fd.hpp"
#include "src/config/json/json_tree.hpp"
#include "src/config/refusal.hpp"
#include "src/tool/cli/decimal.hpp"
#include "src/tool/cli/messages.hpp"
#include "src/tool/cli/refused_line.hpp"
#include "src/tool/dump/npy_header.hpp"
#include "src/tool/run/dbg_model.hpp"

namespace opdump::tool {

using config::JsonNode;
using config::JsonTree;
using config::JsonType;
using config::KeyPath;
using config::Refusal;

struct RunFile::Text {
  std::string text;
  JsonTree tree;
  bool is_dbg = false;
  std::string model_name;
  nano::DbgFile dbg;
};

namespace {

constexpr std::size_t kMaxRunBytes = 64 * 1024 * 1024;

bool read_up_to(int file, std::size_t most, std::string& text) {
  char block[16384];
  while (text.size() < most) {
    const ssize_t got = read(file, block, std::min(sizeof block, most - text.size()));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return false;
    if (got == 0) break;
    text.append(block, static_cast<std::size_t>(got));
  }
  return true;
}

/// Opens a regular file; on false `reason` says why not.
bool open_file(const std::string& path, posix::UniqueFd& file, std::uint64_t& bytes, std::string& reason) {
  file.reset(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK));
  struct stat status {};
  if (!file || fstat(file.get(), &status) != 0) {
    reason = path + ": " + strerror(errno);
    return false;
  }
  if (!S_ISREG(status.st_mode)) {
    reason = path + ": not a regular file";
    return false;
  }
  bytes = static_cast<std::uint64_t>(status.st_size);
  return true;
}

class RunFileReader {
 public:
  RunFileReader(std::string_view text, std::string directory, Refusal& refusal)
      : text_(text), directory_(std::move(directory)), refusal_(refusal) {}

  bool read(const JsonNode& root, RunFile& run) {
    const KeyPath here;
    card_ = root.member("opdump_model") != nullptr;
    if (card_) return read_card(root, here, run.models.emplace_back());
    constexpr std::array<std::string_view, 5> kKeys = {"device_id", "models", "single_ops", "steps",
                                                       "inject"};
    run.has_steps = root.member("steps") != nullptr;
    return check_object(root, here, kKeys) && read_number(root, here, "device_id", run.device_id) &&
           read_number(root, here, "steps", run.steps) &&
           for_each(root, here, "models",
                    [&](const JsonNode& node, const KeyPath& path) {
                      return read_model(node, path, run.models.emplace_back());
                    }) &&
           for_each(root, here, "single_ops",
                    [&](const JsonNode& node, const KeyPath& path) {
                      return read_op(node, path, run.single_ops.emplace_back());
                    }) &&
           for_each(root, here, "inject", [&](const JsonNode& node, const KeyPath& path) {
             return read_fault(node, path, run, run.faults.emplace_back());
           });
  }

 private:
  static constexpr std::size_t kMostNameBytes = 0xffff;
  static constexpr std::uint64_t kMostTensorBytes = std::uint64_t{1} << 62;

  bool read_card(const JsonNode& root, const KeyPath& path, RunModel& model) {
    std::uint64_t version = 0;
    if (!read_number(root, path, "opdump_model", version)) return false;
    model.from_card = true;
    if (version == 1) return read_model(root, path, model);
    return refuse(*root.member("opdump_model"), path.key("opdump_model"), "this build reads version 1");
  }

  bool refuse(const JsonNode& node, const KeyPath& path, std::string reason) {
    return refusal_.refuse(ConfigFault::invalid_value, node.offset(), path.text(), std::move(reason));
  }

  bool check_object(const JsonNode& node, const KeyPath& path, std::span<const std::string_view> keys) {
    if (node.type() != JsonType::object) return wrong_type(node, path, "an object");
    for (const JsonNode* child = node.first(); child != nullptr; child = child->next()) {
      if (std::find(keys.begin(), keys.end(), child->key()) != keys.end()) continue;
      std::string reason = "unknown key";
      const std::string_view near = config::closest(child->key(), keys);
      if (!near.empty()) reason += ", \"" + std::string(near) + "\" is meant?";
      reason += " Allowed are " + config::listed(keys);
      return refusal_.refuse(ConfigFault::not_in_list, child->key_offset(), path.key(child->key()).text(),
                             std::move(reason));
    }
    return true;
  }

  bool wrong_type(const JsonNode& node, const KeyPath& path, std::string_view wanted) {
    std::string reason(config::to_string(node.type()));
    reason.append(" instead of ").append(wanted);
    return refusal_.refuse(ConfigFault::wrong_type, node.offset(), path.text(), std::move(reason));
  }

  bool missing(const JsonNode& node, const KeyPath& path, std::string_view what) {
    return refusal_.refuse(ConfigFault::missing, node.offset(), path.text(), "missing: " + std::string(what));
  }

  template <class Read>
  bool for_each(const JsonNode& parent, const KeyPath& path, std::string_view key, Read read) {
    const JsonNode* node = parent.member(key);
    if (node == nullptr) return true;
    const KeyPath here = path.key(key);
    if (node->type() != JsonType::array) return wrong_type(*node, here, "an array");
    std::size_t index = 0;
    for (const JsonNode* child = node->first(); child != nullptr; child = child->next()) {
      if (!read(*child, here.element(index++))) return false;
    }
    return true;
  }

  /// Leaves `text` as it is when the key is not there.
  bool read_text(const JsonNode& parent, const KeyPath& path, std::string_view key, std::string_view& text) {
    const JsonNode* node = parent.member(key);
    return node == nullptr || take_text(*node, path.key(key), text);
  }

  bool take_text(const JsonNode& node, const KeyPath& path, std::string_view& text) {
    if (node.type() != JsonType::string) return wrong_type(node, path, "a string");
    if (node.text().size() > kMostNameBytes) return refuse(node, path, "longer than 65535 bytes");
    text = node.text();
    return true;
  }

  bool take_number(const JsonNode& node, const KeyPath& path, std::uint64_t most, std::uint64_t& number) {
    if (node.type() != JsonType::number) return wrong_type(node, path, "a number");
    const std::optional<std::uint64_t> value = parse_decimal(number_at(node));
    if (!value || *value > most)
      return refuse(node, path, "a whole number from 0 to " + std::to_string(most) + " is expected");
    number = *value;
    return true;
  }

  /// The text of a number.
  std::string_view number_at(const JsonNode& node) const {
    const std::string_view rest = text_.substr(node.offset());
    return rest.substr(0, rest.find_first_not_of("+-.eE0123456789"));
  }

  template <class Number>
  bool read_number(const JsonNode& parent, const KeyPath& path, std::string_view key, Number& number) {
    const JsonNode* node = parent.member(key);
    if (node == nullptr) return true;
    std::uint64_t value = 0;
    if (!take_number(*node, path.key(key), std::numeric_limits<Number>::max(), value)) return false;
    number = static_cast<Number>(value);
    return true;
  }

  bool read_dims(const JsonNode& parent, const KeyPath& path, std::string_view key, std::vector<Dim>& dims) {
    return for_each(parent, path, key, [&](const JsonNode& node, const KeyPath& here) {
      if (dims.size() == kMaxRank) return refuse(node, here, "more than 32 dims");
      return take_number(node, here, std::numeric_limits<Dim>::max(), dims.emplace_back());
    });
  }

  bool read_model(const JsonNode& node, const KeyPath& path, RunModel& model) {
    constexpr std::array<std::string_view, 10> kKeys = {
        "name",         "graph_name", "id",      "ops",    "constants",  // a card has these as well:
        "opdump_model", "made_by",    "runtime", "sha256", "build_id"};
    if (!check_object(node, path, std::span(kKeys).first(card_ ? kKeys.size() : 5)) ||
        !read_text(node, path, "name", model.name) ||
        !read_text(node, path, "graph_name", model.graph_name) || !read_number(node, path, "id", model.id) ||
        !read_text(node, path, "sha256", model.sha256) ||
        !read_text(node, path, "build_id", model.build_id) ||
        !read_text(node, path, "runtime", model.runtime))
      return false;
    if (model.name.empty()) return missing(node, path.key("name"), "every model has a name");
    return for_each(node, path, "ops",
                    [&](const JsonNode& child, const KeyPath& here) {
                      return read_op(child, here, model.ops.emplace_back());
                    }) &&
           for_each(node, path, "constants", [&](const JsonNode& child, const KeyPath& here) {
             return read_constant(child, here, model.constants.emplace_back());
           });
  }

  bool read_constant(const JsonNode& node, const KeyPath& path, RunConstant& constant) {
    constexpr std::array<std::string_view, 2> kKeys = {"name", "tensor"};
    if (!check_object(node, path, kKeys) || !read_text(node, path, "name", constant.name)) return false;
    if (constant.name.empty()) return missing(node, path.key("name"), "every constant has a name");
    const JsonNode* tensor = node.member("tensor");
    if (tensor == nullptr) return missing(node, path.key("tensor"), "every constant has a tensor");
    return read_tensor(*tensor, path.key("tensor"), constant.tensor);
  }

  bool read_op(const JsonNode& node, const KeyPath& path, RunOp& op) {
    constexpr std::array<std::string_view, 14> kKeys = {
        "name",   "type",    "task_id", "stream_id",  "level",     "original_names",
        "inputs", "outputs", "marked",  "attributes", "producers",  // a card has these as well:
        "index",  "onnx",    "flags"};
    if (!check_object(node, path, std::span(kKeys).first(card_ ? kKeys.size() : 11)) ||
        !read_text(node, path, "name", op.desc.name) || !read_text(node, path, "type", op.desc.type) ||
        !read_number(node, path, "task_id", op.desc.task_id) ||
        !read_number(node, path, "stream_id", op.desc.stream_id) || !read_level(node, path, op.desc.level) ||
        !read_flag(node, path, "marked", op.desc.marked))
      return false;
    if (op.desc.name.empty()) return missing(node, path.key("name"), "every operator has a name");
    if (op.desc.type.empty()) return missing(node, path.key("type"), "every operator has a type");
    return read_attributes(node, path, op.attributes) && read_onnx(node, path, op.onnx) &&
           for_each(node, path, "flags",
                    [&](const JsonNode& child, const KeyPath& here) {
                      return take_text(child, here, op.flags.emplace_back());
                    }) &&
           for_each(node, path, "original_names",
                    [&](const JsonNode& child, const KeyPath& here) {
                      return take_text(child, here, op.original_names.emplace_back());
                    }) &&
           for_each(node, path, "producers",
                    [&](const JsonNode& child, const KeyPath& here) {
                      std::uint64_t place = 0;
                      if (!take_number(child, here, std::numeric_limits<std::uint32_t>::max(), place))
                        return false;
                      op.producers.push_back(static_cast<std::uint32_t>(place));
                      return true;
                    }) &&
           for_each(node, path, "inputs",
                    [&](const JsonNode& child, const KeyPath& here) {
                      return read_tensor(child, here, op.inputs.emplace_back());
                    }) &&
           for_each(node, path, "outputs", [&](const JsonNode& child, const KeyPath& here) {
             return read_tensor(child, here, op.outputs.emplace_back());
           });
  }

  bool read_onnx(const JsonNode& parent, const KeyPath& path, RunOnnx& onnx) {
    const JsonNode* const node = parent.member("onnx");
    if (node == nullptr) return true;
    constexpr std::array<std::string_view, 3> kKeys = {"op", "domain", "opset"};
    const KeyPath here = path.key("onnx");
    return check_object(*node, here, kKeys) && read_text(*node, here, "op", onnx.op) &&
           read_text(*node, here, "domain", onnx.domain) && read_number(*node, here, "opset", onnx.opset);
  }

  bool read_fault(const JsonNode& node, const KeyPath& path, const RunFile& run, RunFault& fault) {
    constexpr std::array<std::string_view, 8> kKeys = {"step",   "model",  "op",     "kind",
                                                       "status", "victim", "offset", "bytes"};
    constexpr std::array<std::string_view, 4> kKinds = {"overflow", "nan", "exception", "trample"};
    constexpr std::uint64_t kDefaultStatus = 0x20;
    std::size_t kind = 0;
    fault.status = kDefaultStatus;
    if (!check_object(node, path, kKeys) || !read_number(node, path, "step", fault.step) ||
        !read_word(node, path, "kind", kKinds, kind) || !read_number(node, path, "status", fault.status) ||
        !read_number(node, path, "offset", fault.offset) || !read_number(node, path, "bytes", fault.bytes))
      return false;
    if (node.member("kind") == nullptr)
      return missing(node, path.key("kind"), "one of " + config::listed(kKinds));
    fault.kind = static_cast<RunFault::Kind>(kind);
    return find_model(node, path, run, fault.model) &&
           find_op(node, path, "op", run.models[fault.model], fault.op) &&
           (fault.kind != RunFault::Kind::nan || check_floats(node, path, run, fault)) &&
           (fault.kind != RunFault::Kind::trample || check_victim(node, path, run, fault));
  }

  bool find_model(const JsonNode& node, const KeyPath& path, const RunFile& run, std::size_t& index) {
    std::string_view name;
    if (!read_text(node, path, "model", name)) return false;
    if (run.models.empty()) return refuse(node, path, "there is no model to go wrong");
    const auto found = std::find_if(run.models.begin(), run.models.end(), [&](const RunModel& model) {
      return name.empty() || model.name == name;
    });
    if (found == run.models.end())
      return refuse(*node.member("model"), path.key("model"),
                    "no model is called " + config::in_quotes(name));
    index = static_cast<std::size_t>(found - run.models.begin());
    return true;
  }

  bool find_op(const JsonNode& node, const KeyPath& path, std::string_view key, const RunModel& model,
               std::size_t& index) {
    std::string_view name;
    if (node.member(key) == nullptr) return missing(node, path.key(key), "the name of an operator");
    if (!read_text(node, path, key, name)) return false;
    const auto found = std::find_if(model.ops.begin(), model.ops.end(),
                                    [&](const RunOp& op) { return op.desc.name == name; });
    if (found == model.ops.end())
      return refuse(
          *node.member(key), path.key(key),
          "no operator of " + config::in_quotes(model.name) + " is called " + config::in_quotes(name));
    index = static_cast<std::size_t>(found - model.ops.begin());
    return true;
  }

  bool check_floats(const JsonNode& node, const KeyPath& path, const RunFile& run, const RunFault& fault) {
    for (const RunTensor& output : run.models[fault.model].ops[fault.op].outputs) {
      if (can_be_non_finite(output.dtype) && output.bytes != 0) return true;
    }
    return refuse(*node.member("op"), path.key("op"), "has no output of a floating-point dtype");
  }

  bool check_victim(const JsonNode& node, const KeyPath& path, const RunFile& run, RunFault& fault) {
    const RunModel& model = run.models[fault.model];
    if (!find_op(node, path, "victim", model, fault.victim)) return false;
    const std::vector<RunTensor>& outputs = model.ops[fault.victim].outputs;
    const std::uint64_t bytes = outputs.empty() ? 0 : outputs[0].bytes;
    if (fault.bytes != 0 && fault.offset < bytes && fault.bytes <= bytes - fault.offset) return true;
    return refuse(*node.member("victim"), path.key("victim"),
                  "its first output has " + std::to_string(bytes) +
                      " bytes, and \"offset\" and \"bytes\" have to lie within");
  }

  bool read_attributes(const JsonNode& parent, const KeyPath& path, std::vector<OpAttribute>& attributes) {
    const JsonNode* node = parent.member("attributes");
    if (node == nullptr) return true;
    const KeyPath at = path.key("attributes");
    if (node->type() != JsonType::object) return wrong_type(*node, at, "an object");
    for (const JsonNode* member = node->first(); member != nullptr; member = member->next()) {
      OpAttribute& attribute = attributes.emplace_back();
      attribute.name = member->key();
      if (card_ && member->type() != JsonType::string) {
        attribute.value = json_of(*member);
      } else if (!take_text(*member, at.key(member->key()), attribute.value)) {
        return false;
      }
    }
    return true;
  }

  /// The text of a value, which has been checked: up to the comma or bracket behind it.
  std::string_view json_of(const JsonNode& value) const {
    std::size_t end = value.offset();
    bool in_string = false;
    for (std::size_t depth = 0; end < text_.size(); ++end) {
      const char c = text_[end];
      if (c == '"') in_string = !in_string;
      if (c == '\\') ++end;
      if (in_string) continue;
      if (c == '[' || c == '{') ++depth;
      if (depth == 0 && (c == ',' || c == '}' || c == ']' || c == ' ' || c == '\n' || c == '\r' || c == '\t'))
        break;
      if ((c == ']' || c == '}') && --depth == 0)
        return text_.substr(value.offset(), end + 1 - value.offset());
    }
    return text_.substr(value.offset(), end - value.offset());
  }

  /// The place of the text in `words`; leaves `index` as it is when the key is not there.
  bool read_word(const JsonNode& parent, const KeyPath& path, std::string_view key,
                 std::span<const std::string_view> words, std::size_t& index) {
    const JsonNode* node = parent.member(key);
    if (node == nullptr) return true;
    if (node->type() != JsonType::string) return wrong_type(*node, path.key(key), "a string");
    const auto found = std::find(words.begin(), words.end(), node->text());
    if (found == words.end()) return refuse(*node, path.key(key), "one of " + config::listed(words));
    index = static_cast<std::size_t>(found - words.begin());
    return true;
  }

  bool read_flag(const JsonNode& parent, const KeyPath& path, std::string_view key, bool& flag) {
    const JsonNode* node = parent.member(key);
    if (node == nullptr) return true;
    if (node->type() != JsonType::boolean) return wrong_type(*node, path.key(key), "true or false");
    flag = config::is_true(*node, text_);
    return true;
  }

  bool read_level(const JsonNode& parent, const KeyPath& path, OpLevel& level) {
    constexpr std::array<std::string_view, 3> kWords = {"both", "op", "kernel"};
    constexpr std::array<OpLevel, 3> kLevels = {OpLevel::both, OpLevel::op, OpLevel::kernel};
    std::size_t index = 0;
    if (!read_word(parent, path, "level", kWords, index)) return false;
    level = kLevels[index];
    return true;
  }

  bool read_tensor(const JsonNode& node, const KeyPath& path, RunTensor& tensor) {
    constexpr std::array<std::string_view, 10> kKeys = {
        "dtype",  "format",   "shape", "original_shape",
        "data",   "fill",     "bytes",  // a card has these as well:
        "tensor", "constant", "quant"};
    if (!check_object(node, path, std::span(kKeys).first(card_ ? kKeys.size() : 7))) return false;
    if (!read_text(node, path, "tensor", tensor.name) ||
        !read_flag(node, path, "constant", tensor.is_constant) || !read_quant(node, path, tensor.quant)) return false;
    if (card_ && !is_sized(node)) {
      tensor.sized = false;
      return true;
    }
    if (!read_dtype(node, path, tensor.dtype) || !read_format(node, path, tensor.format) ||
        !read_dims(node, path, "shape", tensor.shape) ||
        !read_dims(node, path, "original_shape", tensor.original_shape))
      return false;
    const JsonNode* data = node.member("data");
    const JsonNode* fill = node.member("fill");
    if (card_ && data == nullptr && fill == nullptr) {
      tensor.fill = Fill::ramp;
      return need_bytes(node, path, tensor, tensor.bytes);
    }
    if (data == nullptr && fill == nullptr)
      return missing(node, path, "a tensor has either \"data\", a file, or \"fill\"");
    if (data != nullptr && fill != nullptr)
      return refuse(node, path, "\"data\" and \"fill\" exclude each other");
    if (data != nullptr) return read_data(node, *data, path, tensor);

    constexpr std::array<std::string_view, 3> kWords = {"zeros", "ramp", "random"};
    constexpr std::array<Fill, 3> kFills = {Fill::zeros, Fill::ramp, Fill::random};
    std::size_t index = 0;
    if (!read_word(node, path, "fill", kWords, index)) return false;
    tensor.fill = kFills[index];
    return need_bytes(node, path, tensor, tensor.bytes) && read_padding(node, path, tensor.bytes);
  }

  bool read_quant(const JsonNode& parent, const KeyPath& path, Quantisation& quant) {
    const JsonNode* const node = parent.member("quant");
    if (node == nullptr) return true;
    const KeyPath here = path.key("quant");
    if (node->type() != JsonType::object) return wrong_type(*node, here, "an object");
    std::size_t scheme = 0;
    if (!read_word(*node, here, "scheme", cards::kQuantSchemes, scheme)) return false;
    quant.scheme = static_cast<QuantScheme>(scheme + 1);
    std::uint64_t axis = 0;
    if (!read_number(*node, here, "axis", axis)) return false;
    if (axis >= kMaxRank)
      return refuse(*node->member("axis"), here.key("axis"), "a tensor has up to 32 dims");
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

  bool read_affine(const JsonNode& node, const KeyPath& path, Quantisation& quant) {
    constexpr std::array<std::string_view, 4> kKeys = {"scheme", "axis", "scale", "zero_point"};
    if (!check_object(node, path, kKeys) || !read_reals(node, path, "scale", quant.scales) ||
        !read_reals(node, path, "zero_point", quant.zero_points))
      return false;
    if (quant.scales.empty())
      return missing(node, path.key("scale"), "one number, or one for each index of the axis");
    if (quant.zero_points.empty() || quant.zero_points.size() == quant.scales.size()) return true;
    return refuse(*node.member("zero_point"), path.key("zero_point"), "there are as many as scales");
  }

  bool read_pow2(const JsonNode& node, const KeyPath& path, Quantisation& quant) {
    constexpr std::array<std::string_view, 3> kKeys = {"scheme", "axis", "exponent"};
    if (!check_object(node, path, kKeys) || !read_reals(node, path, "exponent", quant.exponents))
      return false;
    if (quant.exponents.empty())
      return missing(node, path.key("exponent"), "one number, or one for each index of the axis");
    for (const std::int32_t exponent : quant.exponents) {
      if (exponent < cards::kLeastExponent || exponent > cards::kMostExponent)
        return refuse(*node.member("exponent"), path.key("exponent"),
                      "exponents are from -149 to 127, as those of a float");
    }
    return true;
  }

  bool read_block(const JsonNode& node, const KeyPath& path, Quantisation& quant) {
    constexpr std::array<std::string_view, 4> kKeys = {"scheme", "type", "block_elements", "block_bytes"};
    std::string_view type;
    if (!check_object(node, path, kKeys) || !read_text(node, path, "type", type) ||
        !read_number(node, path, "block_elements", quant.block_elements) ||
        !read_number(node, path, "block_bytes", quant.block_bytes))
      return false;
    quant.block_type = type;
    if (type.empty()) return missing(node, path.key("type"), "the name of the block's format, as \"Q4_K\"");
    if (quant.block_elements == 0)
      return missing(node, path.key("block_elements"), "how many numbers a block stands for");
    if (quant.block_bytes == 0) return missing(node, path.key("block_bytes"), "how many bytes a block has");
    return true;
  }

  bool read_lut(const JsonNode& node, const KeyPath& path, Quantisation& quant) {
    constexpr std::array<std::string_view, 4> kKeys = {"scheme", "axis", "table", "first"};
    if (!check_object(node, path, kKeys) || !read_reals(node, path, "table", quant.table)) return false;
    if (quant.table.empty()) return missing(node, path.key("table"), "a number for each that is stored");
    const JsonNode* const first = node.member("first");
    return first == nullptr || take_real(*first, path.key("first"), quant.first);
  }

  template <class Number>
  bool read_reals(const JsonNode& parent, const KeyPath& path, std::string_view key,
                  std::vector<Number>& numbers) {
    return for_each(parent, path, key, [&](const JsonNode& node, const KeyPath& here) {
      return take_real(node, here, numbers.emplace_back());
    });
  }

  /// A number of that type; for a float also "nan", "inf" and "-inf", which stand for what JSON has not.
  template <class Number>
  bool take_real(const JsonNode& node, const KeyPath& path, Number& number) {
    if constexpr (std::is_floating_point_v<Number>) {
      constexpr std::array<std::string_view, 3> kWords = {"nan", "inf", "-inf"};
      constexpr std::array<Number, 3> kNumbers = {std::numeric_limits<Number>::quiet_NaN(),
                                                  std::numeric_limits<Number>::infinity(),
                                                  -std::numeric_limits<Number>::infinity()};
      const auto word = node.type() == JsonType::string ? std::find(kWords.begin(), kWords.end(), node.text())
                                                        : kWords.end();
      if (word != kWords.end()) {
        number = kNumbers[static_cast<std::size_t>(word - kWords.begin())];
        return true;
      }
    }
    if (node.type() != JsonType::number) return wrong_type(node, path, "a number");
    const std::string_view text = number_at(node);
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    return (error == std::errc{} && end == text.data() + text.size()) ||
           refuse(node, path,
                  std::string("no such number is ") +
                      (std::is_floating_point_v<Number> ? "a float" : "a whole number of that size"));
  }

  /// Whether a card tells how large the tensor is: its dtype and all of its dims.
  bool is_sized(const JsonNode& node) const {
    const JsonNode* const dtype = node.member("dtype");
    const JsonNode* const shape = node.member("shape");
    if (dtype == nullptr || shape == nullptr) return false;
    const Result<DType> found = dtype_from_name(dtype->text());
    if (found.ok() && info(found.value()).bits == 0) return false;
    for (const JsonNode* dim = shape->first(); dim != nullptr; dim = dim->next()) {
      if (text_.substr(dim->offset()).starts_with("-1")) return false;
    }
    return true;
  }

  bool read_dtype(const JsonNode& parent, const KeyPath& path, DType& dtype) {
    const JsonNode* node = parent.member("dtype");
    if (node == nullptr) return true;
    const KeyPath here = path.key("dtype");
    if (node->type() != JsonType::string) return wrong_type(*node, here, "a string");
    const Result<DType> found = dtype_from_name(node->text());
    if (!found.ok())
      return refuse(*node, here, config::in_quotes(node->text()) + " is no dtype; write one as \"float16\"");
    if (info(found.value()).bits == 0)
      return refuse(*node, here, "elements of " + config::in_quotes(node->text()) + " have no fixed size");
    dtype = found.value();
    return true;
  }

  bool read_format(const JsonNode& parent, const KeyPath& path, Format& format) {
    const JsonNode* node = parent.member("format");
    if (node == nullptr) return true;
    const KeyPath here = path.key("format");
    if (node->type() != JsonType::string) return wrong_type(*node, here, "a string");
    const Result<Format> found = format_from_name(node->text());
    if (!found.ok())
      return refuse(*node, here, config::in_quotes(node->text()) + " is no format; write one as \"NC1HWC0\"");
    format = found.value();
    return true;
  }

  /// The bytes that dtype and shape make; both must be there.
  bool need_bytes(const JsonNode& node, const KeyPath& path, const RunTensor& tensor, std::uint64_t& bytes) {
    if (node.member("dtype") == nullptr)
      return missing(node, path.key("dtype"), "only an .npy file tells it by itself");
    if (node.member("shape") == nullptr)
      return missing(node, path.key("shape"), "only an .npy file tells it by itself");
    return count_bytes(node, path, tensor, bytes);
  }

  /// A tensor may take more bytes than its elements.
  bool read_padding(const JsonNode& node, const KeyPath& path, std::uint64_t& bytes) {
    const std::uint64_t packed = bytes;
    if (!read_number(node, path, "bytes", bytes)) return false;
    if (bytes >= packed && bytes <= kMostTensorBytes) return true;
    return refuse(
        *node.member("bytes"), path.key("bytes"),
        "dtype and shape need " + std::to_string(packed) + " bytes, and no tensor has more than 2^62");
  }

  bool count_bytes(const JsonNode& node, const KeyPath& path, const RunTensor& tensor, std::uint64_t& bytes) {
    const Result<std::uint64_t> packed = packed_bytes(tensor.dtype, tensor.shape);
    if (!packed.ok() || packed.value() > kMostTensorBytes)
      return refuse(node, path.key("shape"), "passes every memory");
    bytes = packed.value();
    return true;
  }

  bool read_data(const JsonNode& node, const JsonNode& data, const KeyPath& parent, RunTensor& tensor) {
    const KeyPath path = parent.key("data");
    if (data.type() != JsonType::string) return wrong_type(data, path, "a string");
    if (data.text().empty() || data.text().find('\0') != std::string_view::npos)
      return refuse(data, path, "the name of a file is expected");
    tensor.file = data.text()[0] == '/' ? std::string(data.text()) : directory_ + std::string(data.text());
    posix::UniqueFd file;
    std::uint64_t file_bytes = 0;
    std::string reason;
    if (!open_file(tensor.file, file, file_bytes, reason)) return refuse(data, path, reason);
    if (data.text().ends_with(".npy")) return read_npy(node, data, parent, file.get(), file_bytes, tensor);

    std::uint64_t needed = 0;
    if (!need_bytes(node, parent, tensor, needed)) return false;
    if (file_bytes < needed)
      return refuse(data, path,
                    tensor.file + " has " + std::to_string(file_bytes) + " bytes, and dtype and shape need " +
                        std::to_string(needed));
    tensor.bytes = file_bytes;
    return true;
  }

  bool read_npy(const JsonNode& node, const JsonNode& data, const KeyPath& parent, int file,
                std::uint64_t file_bytes, RunTensor& tensor) {
    const KeyPath path = parent.key("data");
    std::string start;
    NpyFile npy;
    std::string reason;
    if (!read_up_to(file, kMostNpyHeadBytes, start))
      return refuse(data, path, tensor.file + ": " + strerror(errno));
    if (!parse_npy(as_bytes(start), npy, reason)) return refuse(data, path, tensor.file + ": " + reason);
    if (file_bytes - npy.data_offset < npy.data_bytes)
      return refuse(data, path,
                    tensor.file + " ends too early: its header promises " + std::to_string(npy.data_bytes) +
                        " bytes of elements");
    if (node.member("dtype") == nullptr) {
      if (npy.dtype == DType::undefined)
        return missing(node, parent.key("dtype"), "the file holds raw items without a dtype");
      tensor.dtype = npy.dtype;
    } else if (npy.dtype != tensor.dtype && npy.item_bytes != 1 &&
               npy.item_bytes * 8 != info(tensor.dtype).bits) {
      return refuse(*node.member("dtype"), parent.key("dtype"),
                    "the file holds '" + npy.descr + "': elements of another size");
    }
    if (node.member("shape") == nullptr) tensor.shape = npy.shape;
    std::uint64_t needed = 0;
    if (!count_bytes(node, parent, tensor, needed)) return false;
    if (needed != npy.data_bytes)
      return refuse(data, path,
                    tensor.file + " holds " + std::to_string(npy.data_bytes) +
                        " bytes of elements, and dtype and shape need " + std::to_string(needed));
    tensor.bytes = npy.data_bytes;
    tensor.file_offset = npy.data_offset;
    return true;
  }

  const std::string_view text_;
  const std::string directory_;
  Refusal& refusal_;
  bool card_ = false;
};

void fill_descs(std::vector<RunOp>& ops) {
  for (RunOp& op : ops) {
    op.desc.original_names = op.original_names;
    op.desc.attributes = op.attributes;
    op.desc.producers = op.producers;
  }
}

}  // namespace

TensorView view_of(const RunTensor& tensor) {
  return {.bytes = tensor.bytes,
          .dtype = tensor.dtype,
          .format = tensor.format,
          .shape = tensor.shape,
          .original_shape = tensor.original_shape};
}

RunFile::RunFile() : text_(std::make_unique<Text>()) {}
RunFile::~RunFile() = default;

std::string_view RunFile::text() const {
  return text_->text;
}

bool RunFile::is_dbg() const {
  return text_->is_dbg;
}

std::size_t RunFile::unsized_tensors(std::string& first) const {
  std::size_t count = 0;
  const auto add = [&](const RunOp& op, std::string_view role, const std::vector<RunTensor>& tensors) {
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      if (tensors[i].sized || count++ != 0) continue;
      first = std::string(role) + ' ' + std::to_string(i) + " of operator " + config::in_quotes(op.desc.name);
    }
  };
  for (const RunModel& model : models) {
    for (const RunOp& op : model.ops) {
      add(op, "input", op.inputs);
      add(op, "output", op.outputs);
    }
  }
  return count;
}

bool RunFile::load(const std::string& path, ConfigError& error) {
  error = {};
  posix::UniqueFd file;
  std::uint64_t bytes = 0;
  error.fault = ConfigFault::unreadable;
  if (!open_file(path, file, bytes, error.reason)) return false;
  if (bytes > kMaxRunBytes) {
    error.reason = "longer than 64 MiB";
    return false;
  }
  if (!read_up_to(file.get(), kMaxRunBytes, text_->text)) {
    error.reason = strerror(errno);
    return false;
  }
  const std::size_t slash = path.rfind('/');
  text_->is_dbg = nano::DbgFile::is_dbg(as_bytes(text_->text));
  if (text_->is_dbg) {
    const Bytes bytes = as_bytes(text_->text);
    text_->model_name = path.substr(slash + 1);  // npos + 1 is 0: no slash
    if (text_->model_name.ends_with(".dbg")) text_->model_name.resize(text_->model_name.size() - 4);
    const bool read = read_dbg_model({bytes.begin(), bytes.end()}, text_->model_name, text_->dbg,
                                     models.emplace_back(), error);
    text_->text.clear();
    if (!read) return false;
    for (RunModel& model : models) fill_descs(model.ops);
    error = {};
    return true;
  }
  Refusal refusal(text_->text, error);
  if (!text_->tree.parse(text_->text, refusal)) return false;
  RunFileReader reader(text_->text, slash == std::string::npos ? "" : path.substr(0, slash + 1), refusal);
  if (!reader.read(text_->tree.root(), *this)) return false;
  for (RunModel& model : models) fill_descs(model.ops);
  fill_descs(single_ops);
  error = {};
  return true;
}

bool load_or_say(const std::string& path, RunFile& run) {
  ConfigError error;
  if (run.load(path, error)) return true;
  say(to_string(error, path));
  std::fputs(refused_line(run.text(), error).c_str(), stderr);
  return false;
}

}  // namespace opdump::tool
