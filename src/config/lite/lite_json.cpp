#include "src/config/lite/lite_json.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <string>

#include "opdump/base/text.hpp"
#include "src/config/json/node_reader.hpp"
#include "src/config/pattern/sorted_names.hpp"

namespace opdump::config {
inline namespace OPDUMP_NAMESPACE {
namespace {

constexpr std::array<std::string_view, 2> kLiteRootKeys = {"common_dump_settings", "opdump"};
constexpr std::array<std::string_view, 5> kLiteKeys = {"dump_mode", "path", "net_name", "input_output",
                                                       "kernels"};

class LiteJson : NodeReader {
 public:
  LiteJson(const JsonNode& root, Reading& reading)
      : NodeReader(reading), root_(root), common_(value_of(root, "common_dump_settings")) {}

  bool read(DumpConfig& config) {
    if (common_ == nullptr) return missing(root_, kCommon, "MindSpore Lite's settings stand in there");
    if (!check_type(common_, JsonType::object, kCommon) || !read_dump_mode() ||
        !read_path(config.dump_path) || !read_net_name(config.net_name) || !read_input_output(config) ||
        !read_kernels(config))
      return false;
    config.form.layout = Layout::mindspore_lite;
    config.form.file_format = FileFormat::bin;
    note_unknown_keys(root_, KeyPath{}, kLiteRootKeys);
    note_unknown_keys(*common_, kCommon, kLiteKeys);
    return true;
  }

 private:
  static constexpr KeyPath kCommon{nullptr, "common_dump_settings", KeyPath::kNoIndex};
  static constexpr std::size_t kMaxPathBytes = 4096;  // as Linux has it, with the NUL behind it

  /// For the tool, null means that the key is not there.
  static const JsonNode* value_of(const JsonNode& object, std::string_view key) {
    const JsonNode* const node = object.member(key);
    return node != nullptr && node->type() == JsonType::null ? nullptr : node;
  }
  const JsonNode* value_of(std::string_view key) const { return value_of(*common_, key); }

  bool missing(const JsonNode& object, const KeyPath& at, std::string_view advice) {
    return refuse(ConfigFault::missing, object, at, joined({"missing: ", advice}));
  }

  bool read_number(const JsonNode& node, const KeyPath& at, std::int32_t& value) {
    if (!check_type(&node, JsonType::number, at)) return false;
    const std::string_view text = number_text(node);
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error == std::errc{} && end == text.data() + text.size()) return true;
    return refuse(ConfigFault::invalid_value, node, at,
                  joined({text, " is no whole number from -2147483648 to 2147483647"}));
  }

  bool read_dump_mode() {
    const KeyPath at = kCommon.key("dump_mode");
    const JsonNode* const node = value_of("dump_mode");
    if (node == nullptr) return missing(*common_, at, "0 dumps every operator, 1 those of kernels");
    if (!read_number(*node, at, dump_mode_)) return false;
    if (dump_mode_ != 0 && dump_mode_ != 1)
      note(*node, at, "counts as 1, the operators of kernels, as every number but 0 does");
    return true;
  }

  bool read_path(std::string_view& path) {
    const KeyPath at = kCommon.key("path");
    const JsonNode* const node = value_of("path");
    if (node == nullptr) return missing(*common_, at, "name the directory to write to");
    if (!check_type(node, JsonType::string, at)) return false;
    if (node->text().empty()) return empty(*node, at, ": name the directory to write to");
    return check_text(*node, at) && (copy(node->text(), path) || no_memory(*node, at));
  }

  bool check_text(const JsonNode& node, const KeyPath& at) {
    if (node.text().find('\0') != std::string_view::npos)
      return refuse(ConfigFault::invalid_value, node, at, "contains a NUL byte");
    return node.text().size() < kMaxPathBytes ||
           refuse(ConfigFault::invalid_value, node, at,
                  joined({decimal(node.text().size()), " bytes long, and a path has fewer than ",
                          decimal(kMaxPathBytes)}));
  }

  bool read_net_name(std::string_view& name) {
    const KeyPath at = kCommon.key("net_name");
    const JsonNode* const node = value_of("net_name");
    name = "default";
    if (node == nullptr) return true;
    if (!check_type(node, JsonType::string, at) || !check_text(*node, at)) return false;
    if (node->text().empty()) {
      note(*node, at, "names no network, and counts as \"default\"");
      return true;
    }
    const bool changes = std::any_of(node->text().begin(), node->text().end(), [](char c) {
      return c != '_' && sanitised(static_cast<unsigned char>(c)) == '_';
    });
    if (changes) note(*node, at, "names one directory here: blanks, dots and slashes in it become _");
    return copy(node->text(), name) || no_memory(*node, at);
  }

  bool read_input_output(DumpConfig& config) {
    constexpr DumpMode kModes[] = {DumpMode::all, DumpMode::input, DumpMode::output};
    const KeyPath at = kCommon.key("input_output");
    const JsonNode* const node = value_of("input_output");
    std::int32_t number = 0;
    if (node != nullptr && !read_number(*node, at, number)) return false;
    selects_ = number >= 0 && number <= 2;
    if (!selects_) note(*node, at, "selects nothing: 0 means inputs and outputs, 1 inputs, 2 outputs");
    config.mode = kModes[selects_ ? number : 0];
    return true;
  }

  bool read_kernels(DumpConfig& config) {
    const KeyPath at = kCommon.key("kernels");
    const JsonNode* const node = value_of("kernels");
    if (node == nullptr) {
      note(*common_, at, "missing: MindSpore Lite's own tool ends without it when the first operator runs");
    } else if (!check_array_of(node, JsonType::string, at)) {
      return false;
    }
    if (has_elements(node) && dump_mode_ == 0)
      return refuse(ConfigFault::conflict, *node, at,
                    "names operators, and does not go with \"dump_mode\": 0: set that to 1, or make this []");
    const bool none = dump_mode_ != 0 && !has_elements(node);
    if (none) note(node == nullptr ? *common_ : *node, at, "names no operator, so nothing is dumped");
    config.asked = config.active = selects_ && !none;
    const Result<std::span<ModelRule>> rules = memory().array<ModelRule>(1);
    if (!rules.ok()) return no_memory(*common_, at);
    ModelRule& rule = rules.value()[0];
    rule.any_model = true;
    rule.all_layers = dump_mode_ == 0;
    config.models = rules.value();
    return (copy_texts(node, rule.layers) && sort_layers(rule, memory())) || no_memory(*common_, at);
  }

  const JsonNode& root_;
  const JsonNode* common_;
  std::int32_t dump_mode_ = 0;
  bool selects_ = true;  ///< tensors of some role
};

}  // namespace

bool read_lite_json(const JsonNode& root, Reading& reading) {
  return LiteJson(root, reading).read(reading.config);
}

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::config
