#include "src/tool/read/run/run_file.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "opdump/base/bytes.hpp"
#include "platform/ascend/nano/dbg_file.hpp"
#include "src/config/json/json_tree.hpp"
#include "src/config/refusal.hpp"
#include "src/tool/cli/messages.hpp"
#include "src/tool/cli/progress.hpp"
#include "src/tool/read/card/model_file.hpp"
#include "src/tool/read/dump/beside_files.hpp"
#include "src/tool/read/dump/csv_file.hpp"
#include "src/tool/read/run/json_fields.hpp"
#include "src/tool/read/run/run_tensor_reader.hpp"

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

/// Whether the elements take no more than the bytes that the tensor has.
bool fits_bytes(const TensorView& view) {
  if (view.dtype == DType::undefined || info(view.dtype).bits == 0) return false;
  const Result<std::uint64_t> packed = packed_bytes(view.dtype, view.shape);
  return packed.ok() && packed.value() <= view.bytes;
}

RunTensor dbg_tensor(const TensorView& view) {
  RunTensor tensor;
  tensor.bytes = view.bytes;
  tensor.fill = Fill::zeros;
  if (fits_bytes(view)) {
    tensor.dtype = view.dtype;
    if (!to_string(view.format).empty()) tensor.format = view.format;
    tensor.shape.assign(view.shape.begin(), view.shape.end());
    tensor.original_shape.assign(view.original_shape.begin(), view.original_shape.end());
  } else {
    tensor.dtype = DType::uint8;
    tensor.shape = {view.bytes};
    tensor.original_shape.assign(view.shape.begin(), view.shape.end());
  }
  return tensor;
}

RunOp dbg_op(const OpDesc& desc, const CapturedTensors& tensors) {
  RunOp op;
  op.desc = desc;
  op.original_names.assign(desc.original_names.begin(), desc.original_names.end());
  for (const TensorView& view : tensors.inputs) op.inputs.push_back(dbg_tensor(view));
  for (const TensorView& view : tensors.outputs) op.outputs.push_back(dbg_tensor(view));
  return op;
}

/// Describes the model of a `.dbg` file that is called `name`. Its texts lie in `file` and in `name`. Tensors
/// are of zeros; one that cannot be as the file says is so many bytes, with its dims as the original shape.
/// False: `error` says what is damaged and where.
bool read_dbg_model(std::vector<std::byte> bytes, std::string_view name, nano::DbgFile& file, RunModel& model,
                    ConfigError& error) {
  std::vector<nano::DbgFault> faults;
  static_cast<void>(file.read(std::move(bytes), faults));
  if (!faults.empty()) {
    error.fault = ConfigFault::unreadable;
    error.reason = "byte " + std::to_string(faults[0].offset) + ": " + faults[0].reason;
    return false;
  }
  const ModelDesc desc = file.model(name);
  model.name = desc.name;
  model.graph_name = desc.graph_name;
  for (std::size_t i = 0; i < desc.ops.size(); ++i) model.ops.push_back(dbg_op(desc.ops[i], desc.tensors[i]));
  return true;
}

bool parse(std::string_view text, JsonTree& tree, Refusal& refusal) {
  Progress progress(text.size());
  const auto add = [](void* bar, std::size_t bytes) { static_cast<Progress*>(bar)->add(bytes); };
  return tree.parse(text, refusal, JsonTree::kWindowBytes, {add, &progress});
}

/// Of an array; 0 of anything else.
std::size_t size_of(const JsonNode* array) {
  std::size_t size = 0;
  if (array == nullptr || array->type() != JsonType::array) return size;
  for (const JsonNode* node = array->first(); node != nullptr; node = node->next()) ++size;
  return size;
}

class RunFileReader {
 public:
  RunFileReader(std::string_view text, std::string directory, Refusal& refusal)
      : fields_(text, refusal), tensors_(fields_, std::move(directory)) {}

  bool read(const JsonNode& root, RunFile& run) {
    const KeyPath here;
    card_ = root.member("opdump_model") != nullptr;
    if (card_) return read_card(root, here, run.models.emplace_back());
    constexpr std::array<std::string_view, 5> kKeys = {"device_id", "models", "single_ops", "steps",
                                                       "inject"};
    RunFaultReader faults(fields_, run);
    run.has_steps = root.member("steps") != nullptr;
    return fields_.check_object(root, here, kKeys) &&
           fields_.read_number(root, here, "device_id", run.device_id) &&
           fields_.read_number(root, here, "steps", run.steps) &&
           fields_.for_each(root, here, "models",
                            [&](const JsonNode& node, const KeyPath& path) {
                              return read_model(node, path, run.models.emplace_back());
                            }) &&
           fields_.for_each(root, here, "single_ops",
                            [&](const JsonNode& node, const KeyPath& path) {
                              return read_op(node, path, run.single_ops.emplace_back());
                            }) &&
           fields_.for_each(root, here, "inject", [&](const JsonNode& node, const KeyPath& path) {
             return faults.read(node, path, run.faults.emplace_back());
           });
  }

 private:
  bool read_card(const JsonNode& root, const KeyPath& path, RunModel& model) {
    std::uint64_t version = 0;
    if (!fields_.read_number(root, path, "opdump_model", version)) return false;
    model.from_card = true;
    if (version == 1) return read_model(root, path, model);
    return fields_.refuse(*root.member("opdump_model"), path.key("opdump_model"),
                          "this build reads version 1");
  }

  bool read_model(const JsonNode& node, const KeyPath& path, RunModel& model) {
    constexpr std::array<std::string_view, 10> kKeys = {
        "name",         "graph_name", "id",      "ops",    "constants",  // a card has these as well:
        "opdump_model", "made_by",    "runtime", "sha256", "build_id"};
    if (!fields_.check_object(node, path, std::span(kKeys).first(card_ ? kKeys.size() : 5)) ||
        !fields_.read_text(node, path, "name", model.name) ||
        !fields_.read_text(node, path, "graph_name", model.graph_name) ||
        !fields_.read_number(node, path, "id", model.id) ||
        !fields_.read_text(node, path, "sha256", model.sha256) ||
        !fields_.read_text(node, path, "build_id", model.build_id) ||
        !fields_.read_text(node, path, "runtime", model.runtime))
      return false;
    if (model.name.empty()) return fields_.missing(node, path.key("name"), "every model has a name");
    return read_ops(node, path, model.ops) &&
           fields_.for_each(node, path, "constants", [&](const JsonNode& child, const KeyPath& here) {
             return read_constant(child, here, model.constants.emplace_back());
           });
  }

  bool read_ops(const JsonNode& model, const KeyPath& path, std::vector<RunOp>& ops) {
    ops.reserve(size_of(model.member("ops")));
    Progress progress(ops.capacity(), "reading operators");
    return fields_.for_each(model, path, "ops", [&](const JsonNode& child, const KeyPath& here) {
      progress.add();
      return read_op(child, here, ops.emplace_back());
    });
  }

  bool read_constant(const JsonNode& node, const KeyPath& path, RunConstant& constant) {
    constexpr std::array<std::string_view, 2> kKeys = {"name", "tensor"};
    if (!fields_.check_object(node, path, kKeys) || !fields_.read_text(node, path, "name", constant.name))
      return false;
    if (constant.name.empty()) return fields_.missing(node, path.key("name"), "every constant has a name");
    const JsonNode* tensor = node.member("tensor");
    if (tensor == nullptr) return fields_.missing(node, path.key("tensor"), "every constant has a tensor");
    return tensors_.read(*tensor, path.key("tensor"), card_, constant.tensor);
  }

  bool read_op(const JsonNode& node, const KeyPath& path, RunOp& op) {
    constexpr std::array<std::string_view, 14> kKeys = {
        "name",   "type",    "task_id", "stream_id",  "level",     "original_names",
        "inputs", "outputs", "marked",  "attributes", "producers",  // a card has these as well:
        "index",  "onnx",    "flags"};
    if (!fields_.check_object(node, path, std::span(kKeys).first(card_ ? kKeys.size() : 11)) ||
        !fields_.read_text(node, path, "name", op.desc.name) ||
        !fields_.read_text(node, path, "type", op.desc.type) ||
        !fields_.read_number(node, path, "task_id", op.desc.task_id) ||
        !fields_.read_number(node, path, "stream_id", op.desc.stream_id) ||
        !read_level(node, path, op.desc.level) || !fields_.read_flag(node, path, "marked", op.desc.marked))
      return false;
    if (op.desc.name.empty()) return fields_.missing(node, path.key("name"), "every operator has a name");
    if (op.desc.type.empty()) return fields_.missing(node, path.key("type"), "every operator has a type");
    return read_attributes(node, path, op.attributes) && read_onnx(node, path, op.onnx) &&
           fields_.for_each(node, path, "flags",
                            [&](const JsonNode& child, const KeyPath& here) {
                              return fields_.take_text(child, here, op.flags.emplace_back());
                            }) &&
           fields_.for_each(node, path, "original_names",
                            [&](const JsonNode& child, const KeyPath& here) {
                              return fields_.take_text(child, here, op.original_names.emplace_back());
                            }) &&
           fields_.for_each(
               node, path, "producers",
               [&](const JsonNode& child, const KeyPath& here) {
                 std::uint64_t place = 0;
                 if (!fields_.take_number(child, here, std::numeric_limits<std::uint32_t>::max(), place))
                   return false;
                 op.producers.push_back(static_cast<std::uint32_t>(place));
                 return true;
               }) &&
           fields_.for_each(node, path, "inputs",
                            [&](const JsonNode& child, const KeyPath& here) {
                              return tensors_.read(child, here, card_, op.inputs.emplace_back());
                            }) &&
           fields_.for_each(node, path, "outputs", [&](const JsonNode& child, const KeyPath& here) {
             return tensors_.read(child, here, card_, op.outputs.emplace_back());
           });
  }

  bool read_onnx(const JsonNode& parent, const KeyPath& path, RunOnnx& onnx) {
    const JsonNode* const node = parent.member("onnx");
    if (node == nullptr) return true;
    constexpr std::array<std::string_view, 3> kKeys = {"op", "domain", "opset"};
    const KeyPath here = path.key("onnx");
    return fields_.check_object(*node, here, kKeys) && fields_.read_text(*node, here, "op", onnx.op) &&
           fields_.read_text(*node, here, "domain", onnx.domain) &&
           fields_.read_number(*node, here, "opset", onnx.opset);
  }

  bool read_attributes(const JsonNode& parent, const KeyPath& path, std::vector<OpAttribute>& attributes) {
    const JsonNode* node = parent.member("attributes");
    if (node == nullptr) return true;
    const KeyPath at = path.key("attributes");
    if (node->type() != JsonType::object) return fields_.wrong_type(*node, at, "an object");
    for (const JsonNode* member = node->first(); member != nullptr; member = member->next()) {
      OpAttribute& attribute = attributes.emplace_back();
      attribute.name = member->key();
      if (card_ && member->type() != JsonType::string) {
        attribute.value = json_of(*member);
      } else if (!fields_.take_text(*member, at.key(member->key()), attribute.value)) {
        return false;
      }
    }
    return true;
  }

  /// The text of a value, which has been checked: up to the comma or bracket behind it.
  std::string_view json_of(const JsonNode& value) const {
    std::size_t end = value.offset();
    bool in_string = false;
    for (std::size_t depth = 0; end < fields_.text().size(); ++end) {
      const char c = fields_.text()[end];
      if (c == '"') in_string = !in_string;
      if (c == '\\') ++end;
      if (in_string) continue;
      if (c == '[' || c == '{') ++depth;
      if (depth == 0 && (c == ',' || c == '}' || c == ']' || c == ' ' || c == '\n' || c == '\r' || c == '\t'))
        break;
      if ((c == ']' || c == '}') && --depth == 0)
        return fields_.text().substr(value.offset(), end + 1 - value.offset());
    }
    return fields_.text().substr(value.offset(), end - value.offset());
  }

  bool read_level(const JsonNode& parent, const KeyPath& path, OpLevel& level) {
    constexpr std::array<std::string_view, 3> kWords = {"both", "op", "kernel"};
    constexpr std::array<OpLevel, 3> kLevels = {OpLevel::both, OpLevel::op, OpLevel::kernel};
    std::size_t index = 0;
    if (!fields_.read_word(parent, path, "level", kWords, index)) return false;
    level = kLevels[index];
    return true;
  }

  JsonFields fields_;
  RunTensorReader tensors_;
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

namespace {

/// What a file is that stands in a card's place, and what to do; empty: it may be a card.
std::string_view foreign_kind(std::string_view text) {
  if (text.starts_with("PK\x03\x04")) return "is a ZIP file, as .npz and .pt are, and no card";
  if (text.starts_with("GGUF"))
    return "is a GGUF file, and no card: ggml's adapter writes a card into the dump";
  if (is_utf16(text)) return "is UTF-16: save it as UTF-8";
  if (text.substr(0, 64).find('\0') != text.npos)
    return "is neither a card, RUN.json or .dbg file nor a model of ONNX or TensorFlow Lite";
  return {};
}

}  // namespace

bool RunFile::load(const std::string& path, ConfigError& error) {
  error = {};
  error.fault = ConfigFault::unreadable;
  if (std::error_code none; std::filesystem::is_directory(path, none)) return load_dump(path, error);
  MappedFile file;
  if (!file.open(path)) {
    error.reason = file.error();
    return false;
  }
  const std::string_view text = as_text(file.bytes());
  const std::string_view name =
      std::string_view(path).substr(path.rfind('/') + 1);  // npos + 1 is 0: no slash
  const std::string directory = path.substr(0, path.size() - name.size());
  if (is_model_file(file.bytes())) {
    cards::ModelCard card;
    if (!read_model_file(file, path, {}, {}, card, text_->text, error.reason)) return false;
    left_out = std::move(card.left_out);
  } else if (text.size() > kMostCardBytes) {
    error.reason = "longer than 64 MiB";
    return false;
  } else if (text_->is_dbg = nano::DbgFile::is_dbg(file.bytes()); text_->is_dbg) {
    text_->model_name = name.substr(0, name.size() - (name.ends_with(".dbg") ? 4 : 0));
    if (!read_dbg_model({file.bytes().begin(), file.bytes().end()}, text_->model_name, text_->dbg,
                        models.emplace_back(), error))
      return false;
  } else if (error.reason = foreign_kind(text); !error.reason.empty()) {
    return false;
  } else {
    text_->text = text;
  }
  if (!text_->is_dbg) {
    Refusal refusal(text_->text, error);
    if (!parse(text_->text, text_->tree, refusal)) return false;
    RunFileReader reader(text_->text, directory, refusal);
    if (!reader.read(text_->tree.root(), *this)) return false;
    text_->tree.forget_nodes();
  }
  if (const std::optional<BesideName> card = parse_beside_name(name, kCardSuffix))
    device_id = static_cast<std::uint32_t>(card->device);
  for (RunModel& model : models) {
    fill_descs(model.ops);
    model.devices = {device_id};
  }
  fill_descs(single_ops);
  error = {};
  return true;
}

bool RunFile::load_dump(const std::string& path, ConfigError& error) {
  std::vector<std::string> paths;
  std::error_code failed;
  std::filesystem::recursive_directory_iterator at(path, failed);
  for (; !failed && at != std::filesystem::recursive_directory_iterator(); at.increment(failed)) {
    if (parse_beside_name(at->path().filename().string(), kCardSuffix)) paths.push_back(at->path().string());
  }
  std::sort(paths.begin(), paths.end());
  if (failed || paths.empty()) {
    error.reason =
        failed ? failed.message() : "there is no card, 'opdump.*.model.json', below this directory";
    return false;
  }
  for (const std::string& each : paths) {
    auto card = std::make_unique<RunFile>();
    error.file = each;
    if (!card->load(each, error) || card->models.empty()) return false;
    RunModel& model = card->models[0];
    const auto same = std::find_if(models.begin(), models.end(), [&](const RunModel& other) {
      return other.name == model.name && other.id == model.id;
    });
    if (same == models.end()) {
      models.push_back(std::move(model));
      card->path_ = each;
      cards_.push_back(std::move(card));
      continue;
    }
    const RunFile& other = *cards_[static_cast<std::size_t>(same - models.begin())];
    if (other.text() != card->text()) {
      error.fault = ConfigFault::unreadable;
      error.reason = "is another card of the same model than " + other.path_ + ": name one of them";
      return false;
    }
    same->devices.push_back(card->device_id);
  }
  device_id = models[0].devices[0];
  error = {};
  return true;
}

bool load_or_say(const std::string& path, RunFile& run) {
  ConfigError error;
  if (run.load(path, error)) {
    for (const std::string& left_out : run.left_out) say(path + ": left out: " + left_out);
    return true;
  }
  say(to_string(error, path));
  std::fputs(refused_line(run.text(), error).c_str(), stderr);
  return false;
}

}  // namespace opdump::tool
