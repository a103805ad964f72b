#include "acl_json.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "dump_path.hpp"
#include "dump_step.hpp"

namespace opdump::config {
namespace {

using Words = std::span<const std::string_view>;

// The order of the words is that of the enumerations.
constexpr std::array<std::string_view, 3> kModes = {"input", "output", "all"};
constexpr std::array<std::string_view, 3> kLevels = {"op", "kernel", "all"};
constexpr std::array<std::string_view, 2> kData = {"tensor", "stats"};
constexpr std::array<std::string_view, 2> kSwitch = {"off", "on"};
constexpr std::array<std::string_view, 5> kScenes = {"lite_exception", "aic_err_brief_dump",
                                                     "aic_err_norm_dump", "aic_err_detail_dump", "watcher"};
constexpr std::array<std::string_view, 5> kKernelData = {"all", "printf", "tensor", "assert", "timestamp"};
constexpr std::array<std::string_view, 7> kStats = {"Max",          "Min",          "Avg",   "Nan",
                                                    "Negative Inf", "Positive Inf", "L2norm"};

// In the order in which their types are checked.
constexpr std::array<std::string_view, 9> kTexts = {"dump_path",  "dump_mode",        "dump_op_switch",
                                                    "dump_level", "dump_scene",       "dump_data",
                                                    "dump_debug", "dump_kernel_data", "dump_step"};
constexpr std::array<std::string_view, 2> kNameLists = {"layer", "watcher_nodes"};
constexpr std::array<std::string_view, 2> kBlacklists = {"optype_blacklist", "opname_blacklist"};
constexpr std::array<std::string_view, 4> kUnsupportedLists = {"watcher_nodes", "optype_blacklist",
                                                               "opname_blacklist", "opname_range"};

std::size_t position_of(std::string_view word, Words words) {
  return static_cast<std::size_t>(std::find(words.begin(), words.end(), word) - words.begin());
}

class AclJson {
 public:
  AclJson(const JsonNode& dump, Arena& memory, DumpPathCheck check_path, Refusal& refusal)
      : dump_(dump), memory_(memory), check_path_(check_path), refusal_(refusal) {}

  bool read(DumpConfig& config) {
    if (dump_.type != JsonType::object) return wrong_type(dump_, JsonType::object, kDump);
    if (dump_.first == nullptr) return true;
    return check_types() && read_words(config) && check_supported() && read_path(config.dump_path) &&
           read_steps(config.steps) && read_models(config);
  }

 private:
  static constexpr KeyPath kDump{nullptr, "dump", KeyPath::kNoIndex};

  // Types.

  bool check_types() {
    for (const std::string_view key : kTexts) {
      if (!check_type(dump_.member(key), JsonType::string, kDump.key(key))) return false;
    }
    const KeyPath list = kDump.key("dump_list");
    return check_array_of(dump_.member("dump_stats"), JsonType::string, kDump.key("dump_stats")) &&
           check_array_of(dump_.member("dump_list"), JsonType::object, list,
                          [this](const JsonNode& item, const KeyPath& at) { return check_item(item, at); });
  }

  bool check_item(const JsonNode& item, const KeyPath& at) {
    if (!check_type(item.member("model_name"), JsonType::string, at.key("model_name"))) return false;
    for (const std::string_view key : kNameLists) {
      if (!check_array_of(item.member(key), JsonType::string, at.key(key))) return false;
    }
    for (const std::string_view key : kBlacklists) {
      const KeyPath list = at.key(key);
      if (!check_array_of(item.member(key), JsonType::object, list)) return false;
      if (!check_each(item.member(key), list, [this](const JsonNode& entry, const KeyPath& entry_at) {
            return check_type(entry.member("name"), JsonType::string, entry_at.key("name")) &&
                   check_array_of(entry.member("pos"), JsonType::string, entry_at.key("pos"));
          }))
        return false;
    }
    const KeyPath ranges = at.key("opname_range");
    return check_array_of(item.member("opname_range"), JsonType::object, ranges) &&
           check_each(item.member("opname_range"), ranges,
                      [this](const JsonNode& entry, const KeyPath& range) {
                        return check_type(entry.member("begin"), JsonType::string, range.key("begin")) &&
                               check_type(entry.member("end"), JsonType::string, range.key("end"));
                      });
  }

  bool check_type(const JsonNode* node, JsonType type, const KeyPath& at) {
    return node == nullptr || node->type == type || wrong_type(*node, type, at);
  }

  template <class Check>
  bool check_each(const JsonNode* array, const KeyPath& at, Check check) {
    if (array == nullptr) return true;
    std::size_t index = 0;
    for (const JsonNode* element = array->first; element != nullptr; element = element->next) {
      if (!check(*element, at.element(index++))) return false;
    }
    return true;
  }

  bool check_array_of(const JsonNode* node, JsonType type, const KeyPath& at) {
    return check_array_of(node, type, at, [](const JsonNode&, const KeyPath&) { return true; });
  }

  /// Of each element: first its type, then `check`.
  template <class Check>
  bool check_array_of(const JsonNode* node, JsonType type, const KeyPath& at, Check check) {
    if (!check_type(node, JsonType::array, at)) return false;
    return check_each(node, at, [&](const JsonNode& element, const KeyPath& element_at) {
      return check_type(&element, type, element_at) && check(element, element_at);
    });
  }

  bool wrong_type(const JsonNode& node, JsonType wanted, const KeyPath& at) {
    return refuse(ConfigFault::wrong_type, node, at,
                  std::string(to_string(node.type)) + ", but it must be " + std::string(to_string(wanted)));
  }

  // Values.

  bool read_words(DumpConfig& config) {
    return read_word("dump_mode", kModes, config.mode) && check_word("dump_data", kData) &&
           read_word("dump_op_switch", kSwitch, config.single_ops) &&
           read_word("dump_level", kLevels, config.level) && check_word("dump_debug", kSwitch) &&
           check_word("dump_scene", kScenes) && check_kernel_data() &&
           check_each(dump_.member("dump_stats"), kDump.key("dump_stats"),
                      [this](const JsonNode& node, const KeyPath& at) {
                        return check(node, node.text, kStats, at);
                      });
  }

  /// Absent: `value` keeps its default.
  template <class Value>
  bool read_word(std::string_view key, Words words, Value& value) {
    if (!check_word(key, words)) return false;
    const JsonNode* node = dump_.member(key);
    if (node != nullptr) value = static_cast<Value>(position_of(node->text, words));
    return true;
  }

  bool check_word(std::string_view key, Words words) {
    const JsonNode* node = dump_.member(key);
    return node == nullptr || check(*node, node->text, words, kDump.key(key));
  }

  bool check_kernel_data() {
    const JsonNode* node = dump_.member("dump_kernel_data");
    if (node == nullptr) return true;
    for (std::size_t begin = 0; begin <= node->text.size();) {
      const std::size_t end = std::min(node->text.find(',', begin), node->text.size());
      const std::string_view part = node->text.substr(begin, end - begin);
      if (!check(*node, part, kKernelData, kDump.key("dump_kernel_data"))) return false;
      begin = end + 1;
    }
    return true;
  }

  bool check(const JsonNode& node, std::string_view word, Words words, const KeyPath& at) {
    if (word.empty()) return empty(node, at, "; allowed: " + listed(words));
    if (position_of(word, words) < words.size()) return true;
    std::string reason = quoted(word) + " is not allowed; allowed: " + listed(words);
    if (const std::string_view near = closest(word, words); !near.empty())
      reason += "; did you mean " + quoted(near) + "?";
    return refuse(ConfigFault::not_in_list, node, at, reason);
  }

  bool empty(const JsonNode& node, const KeyPath& at, const std::string& advice) {
    return refuse(ConfigFault::empty, node, at, "present but empty" + advice);
  }

  // What CANN knows and this version does not. Stands before the checks of meaning, most of which belong to
  // these keys.

  bool check_supported() {
    if (has_text("dump_debug", "on"))
      return not_supported("dump_debug", " \"on\"", "leave it out or \"off\"");
    if (has_text("dump_data", "stats")) return not_supported("dump_data", " \"stats\"", "use \"tensor\"");
    for (const std::string_view key : {"dump_scene", "dump_stats", "dump_kernel_data"}) {
      if (dump_.member(key) != nullptr) return not_supported(key, "", "leave it out");
    }
    return check_each(dump_.member("dump_list"), kDump.key("dump_list"),
                      [this](const JsonNode& item, const KeyPath& at) {
                        for (const std::string_view key : kUnsupportedLists) {
                          const JsonNode* list = item.member(key);
                          if (list != nullptr && list->first != nullptr)
                            return not_supported(*list, at.key(key), "leave it out");
                        }
                        return true;
                      });
  }

  bool has_text(std::string_view key, std::string_view text) const {
    const JsonNode* node = dump_.member(key);
    return node != nullptr && node->text == text;
  }

  bool not_supported(std::string_view key, const std::string& value, const std::string& advice) {
    return refuse(ConfigFault::not_supported, *dump_.member(key), kDump.key(key),
                  std::string(key) + value + " is not supported yet: " + advice);
  }

  bool not_supported(const JsonNode& node, const KeyPath& at, const std::string& advice) {
    return refuse(ConfigFault::not_supported, node, at,
                  std::string(at.name) + " is not supported yet: " + advice);
  }

  // Meaning.

  bool read_path(std::string_view& path) {
    const KeyPath at = kDump.key("dump_path");
    const JsonNode* node = dump_.member("dump_path");
    if (node == nullptr) return missing_path(at);
    if (node->text.empty()) return empty(*node, at, ": name the directory to write to");
    return take(*node, at, path, [&](std::string& reason) {
      return parse_dump_path(node->text, check_path_, memory_, reason);
    });
  }

  bool missing_path(const KeyPath& at) {
    std::string reason = "missing: name the directory to write to";
    constexpr std::array<std::string_view, 1> kKey = {"dump_path"};
    for (const JsonNode* member = dump_.first; member != nullptr; member = member->next) {
      if (closest(member->key, kKey).empty()) continue;
      reason += "; is " + quoted(member->key) + " a slip of the keys?";
      break;
    }
    return refuse(ConfigFault::missing, dump_, at, reason);
  }

  bool read_steps(StepSet& steps) {
    const JsonNode* node = dump_.member("dump_step");
    return node == nullptr || take(*node, kDump.key("dump_step"), steps, [&](std::string& reason) {
             return parse_steps(node->text, memory_, reason);
           });
  }

  template <class Value, class Parse>
  bool take(const JsonNode& node, const KeyPath& at, Value& value, Parse parse) {
    std::string reason;
    const Result<Value> result = parse(reason);
    if (result.status() == Status::no_memory) return no_memory(node, at);
    if (!result.ok()) return refuse(ConfigFault::invalid_value, node, at, reason);
    value = result.value();
    return true;
  }

  bool read_models(DumpConfig& config) {
    config.active = config.single_ops;
    const JsonNode* list = dump_.member("dump_list");
    if (list == nullptr || list->first == nullptr) return true;
    config.active = true;
    const KeyPath at = kDump.key("dump_list");
    if (!config.single_ops && !check_each(list, at, [this](const JsonNode& item, const KeyPath& item_at) {
          return check_not_empty(item, item_at);
        }))
      return false;

    std::size_t count = 0;
    for (const JsonNode* item = list->first; item != nullptr; item = item->next)
      count += names_something(*item);
    const Result<std::span<ModelRule>> rules = memory_.array<ModelRule>(count);
    if (!rules.ok()) return no_memory(*list, at);
    config.models = rules.value();
    ModelRule* rule = rules.value().data();
    return check_each(list, at, [&](const JsonNode& item, const KeyPath& item_at) {
      return !names_something(item) || read_rule(item, *rule++) || no_memory(item, item_at);
    });
  }

  bool check_not_empty(const JsonNode& item, const KeyPath& at) {
    const JsonNode* name = item.member("model_name");
    if (name != nullptr && name->text.empty())
      return empty(*name, at.key("model_name"), ": name a model, or leave the key out to mean every model");
    const JsonNode* layer = item.member("layer");
    if (layer != nullptr && layer->first == nullptr)
      return empty(*layer, at.key("layer"), ": name operators, or leave the key out to mean every operator");
    return true;
  }

  /// An item may be present but empty beside single operators, and then selects nothing of any model.
  static bool names_something(const JsonNode& item) {
    const JsonNode* name = item.member("model_name");
    const JsonNode* layer = item.member("layer");
    return (name == nullptr || !name->text.empty()) && (layer == nullptr || layer->first != nullptr);
  }

  /// False when `memory_` is full.
  bool read_rule(const JsonNode& item, ModelRule& rule) {
    const JsonNode* name = item.member("model_name");
    const JsonNode* layer = item.member("layer");
    rule.any_model = name == nullptr;
    rule.all_layers = layer == nullptr;
    if (name != nullptr && !copy(name->text, rule.model_name)) return false;
    if (layer == nullptr) return true;
    std::size_t count = 0;
    for (const JsonNode* entry = layer->first; entry != nullptr; entry = entry->next) ++count;
    const Result<std::span<std::string_view>> names = memory_.array<std::string_view>(count);
    if (!names.ok()) return false;
    std::string_view* to = names.value().data();
    for (const JsonNode* entry = layer->first; entry != nullptr; entry = entry->next) {
      if (!copy(entry->text, *to++)) return false;
    }
    rule.layers = names.value();
    return true;
  }

  bool copy(std::string_view text, std::string_view& to) {
    const Result<std::string_view> stored = memory_.text(text);
    to = stored.value();
    return stored.ok();
  }

  bool no_memory(const JsonNode& node, const KeyPath& at) {
    return refuse(
        ConfigFault::no_memory, node, at,
        "the memory for the config is full: config_memory_bytes of the text's size is always enough");
  }

  bool refuse(ConfigFault fault, const JsonNode& node, const KeyPath& at, std::string reason) {
    return refusal_.refuse(fault, node.offset, at.text(), std::move(reason));
  }

  const JsonNode& dump_;
  Arena& memory_;
  DumpPathCheck check_path_;
  Refusal& refusal_;
};

}  // namespace

bool read_acl_json(const JsonNode& dump, Arena& memory, DumpPathCheck check_path, DumpConfig& config,
                   Refusal& refusal) {
  return AclJson(dump, memory, check_path, refusal).read(config);
}

}  // namespace opdump::config
