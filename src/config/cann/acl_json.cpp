#include "src/config/cann/acl_json.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "src/config/cann/acl_list.hpp"
#include "src/config/cann/dump_path.hpp"
#include "src/config/cann/dump_step.hpp"
#include "src/config/json/node_reader.hpp"

namespace opdump::config {
inline namespace OPDUMP_NAMESPACE {
namespace {

using Words = std::span<const std::string_view>;

// The order of the words is that of the enumerations and bits; kernel data has "all" before its words.
constexpr std::array<std::string_view, 3> kAclModes = {"input", "output", "all"};
constexpr std::array<std::string_view, 3> kLevels = {"op", "kernel", "all"};
constexpr std::array<std::string_view, 2> kAclData = {"tensor", "stats"};
constexpr std::array<std::string_view, 2> kAclSwitch = {"off", "on"};
constexpr std::array<std::string_view, 5> kScenes = {"lite_exception", "aic_err_brief_dump",
                                                     "aic_err_norm_dump", "aic_err_detail_dump", "watcher"};
constexpr std::array<std::string_view, 3> kNanoScenes = {"normal", "debug", "exception"};
constexpr std::array<std::string_view, 5> kKernelData = {"all", "printf", "tensor", "assert", "timestamp"};
constexpr std::array<std::string_view, 7> kStats = {"Max",          "Min",          "Avg",   "Nan",
                                                    "Negative Inf", "Positive Inf", "L2norm"};

// In the order in which the types of these keys are checked.
constexpr std::array<std::string_view, 9> kTexts = {"dump_path",  "dump_mode",        "dump_op_switch",
                                                    "dump_level", "dump_scene",       "dump_data",
                                                    "dump_debug", "dump_kernel_data", "dump_step"};

class AclJson : NodeReader {
 public:
  AclJson(const JsonNode& dump, bool keeps_history, Reading& reading)
      : NodeReader(reading),
        dump_(dump),
        keeps_history_(keeps_history),
        nano_(reading.input.context.nano),
        list_(dump.member("dump_list"), kList, reading) {}

  bool read(DumpConfig& config) {
    if (!check_type(&dump_, JsonType::object, kDump)) return false;
    if (dump_.first() == nullptr) return true;
    if (!check_types() || !read_words(config) || !read_meaning(config)) return false;
    const bool lists = nano_ ? !config.models.empty() : has_elements(dump_.member("dump_list"));
    config.asked = lists || config.single_ops || config.overflow || config.exception != ExceptionDump::none;
    config.active = config.asked;
    note_unknown_keys(dump_, kDump, kAclKeys, {kKeysOfList, kKeysOfOptions});
    if (!config.asked) note_list();
    return true;
  }

 private:
  static constexpr KeyPath kDump{nullptr, "dump", KeyPath::kNoIndex};
  static constexpr KeyPath kList{&kDump, "dump_list", KeyPath::kNoIndex};

  /// What most configs that ask for nothing lack.
  void note_list() {
    const bool there = dump_.member("dump_list") != nullptr;
    note(there ? *dump_.member("dump_list") : dump_, kList,
         joined({there ? "empty" : "missing",
                 ", and nothing else is switched on: nothing is dumped; it names "
                 "models and their operators, as in [{\"model_name\": \"net\", \"layer\": [\"conv1\"]}]"}));
  }

  // Types.

  bool check_types() {
    for (const std::string_view key : kTexts) {
      if (!check_type(dump_.member(key), JsonType::string, kDump.key(key))) return false;
    }
    return check_array_of(dump_.member("dump_stats"), JsonType::string, kDump.key("dump_stats")) &&
           list_.check_types();
  }

  // Values.

  bool read_words(DumpConfig& config) {
    if (nano_) config.form.data = DumpData::statistics;
    return read_word("dump_mode", kAclModes, config.mode) &&
           read_word("dump_data", kAclData, config.form.data) &&
           read_word("dump_op_switch", kAclSwitch, config.single_ops) &&
           read_word("dump_level", kLevels, config.level) &&
           read_word("dump_debug", kAclSwitch, config.overflow) && read_scene(config) &&
           read_kernel_data(config.kernel_data) && read_stats(config.form.statistics);
  }

  /// If the key is absent, `value` keeps its default.
  template <class Value>
  bool read_word(std::string_view key, Words words, Value& value) {
    std::size_t position = words.size();
    if (!read_position(key, words, position)) return false;
    if (position != words.size()) value = static_cast<Value>(position);
    return true;
  }

  /// The same, for a word's position.
  [[gnu::noinline]] bool read_position(std::string_view key, Words words, std::size_t& position) {
    const JsonNode* node = dump_.member(key);
    if (node == nullptr) return true;
    if (!check_word(*node, node->text(), words, kDump.key(key))) return false;
    position = position_of(node->text(), words);
    return true;
  }

  bool read_scene(DumpConfig& config) {
    if (nano_) return read_nano_scene(config);
    constexpr ExceptionDump kDumps[] = {ExceptionDump::brief, ExceptionDump::brief, ExceptionDump::norm,
                                        ExceptionDump::detail, ExceptionDump::none};
    std::size_t scene = kScenes.size();
    const JsonNode* const node = dump_.member("dump_scene");
    if (node != nullptr && position_of(node->text(), kNanoScenes) != kNanoScenes.size())
      return refuse(
          ConfigFault::not_in_list, *node, kDump.key("dump_scene"),
          joined({in_quotes(node->text()),
                  " is for CANN's nano products alone, by whose rules a file is "
                  "read where the model is a .dbg file (opdump check --model X.dbg); allowed here: ",
                  listed(kScenes)}));
    if (!read_word("dump_scene", kScenes, scene)) return false;
    if (scene == kScenes.size()) return true;
    config.exception = kDumps[scene];
    config.watch = config.exception == ExceptionDump::none;
    return true;
  }

  /// A scene that is named counts, whatever `dump_debug` says.
  bool read_nano_scene(DumpConfig& config) {
    std::size_t scene = kNanoScenes.size();
    if (!read_word("dump_scene", kNanoScenes, scene)) return false;
    if (scene == kNanoScenes.size()) return true;
    config.overflow = scene == 1;
    if (scene == 2) config.exception = ExceptionDump::norm;
    return true;
  }

  bool read_kernel_data(std::uint8_t& kernel_data) {
    const JsonNode* node = dump_.member("dump_kernel_data");
    if (node == nullptr) return true;
    for (std::size_t begin = 0; begin <= node->text().size();) {
      const std::size_t end = std::min(node->text().find(',', begin), node->text().size());
      const std::string_view part = node->text().substr(begin, end - begin);
      if (!check_word(*node, part, kKernelData, kDump.key("dump_kernel_data"))) return false;
      const std::size_t word = position_of(part, kKernelData);
      kernel_data = static_cast<std::uint8_t>(kernel_data | (word == 0 ? kKernelAll : 1u << (word - 1)));
      begin = end + 1;
    }
    return true;
  }

  bool read_stats(StatBits& statistics) {
    const JsonNode* stats = dump_.member("dump_stats");
    if (stats == nullptr) return true;
    statistics = 0;
    return check_each(stats, kDump.key("dump_stats"), [&](const JsonNode& node, const KeyPath& at) {
      if (!check_word(node, node.text(), kStats, at)) return false;
      statistics = static_cast<StatBits>(statistics | 1u << position_of(node.text(), kStats));
      return true;
    });
  }

  // Meaning.

  /// Exception and overflow dump end the checks early, as in CANN.
  bool read_meaning(DumpConfig& config) {
    if (nano_ ? !check_nano_scene(config) : !check_scene(config)) return false;
    if (config.exception != ExceptionDump::none) {
      if (config.exception == ExceptionDump::detail)
        note_value(
            "dump_scene",
            "written as \"aic_err_brief_dump\", as CANN does on chips without core files: core file and "
            "kernel binary are the driver's to write");
      return nano_ ? read_path(config.dump_path) : copy_path(config.dump_path);
    }
    if (!read_path(config.dump_path)) return false;
    if (config.overflow) {
      if (config.single_ops)
        return conflict("dump_debug", "\"on\" does not go with \"dump_op_switch\": \"on\": switch one off");
      return read_steps_if_good(config.steps) && read_list_for_history(config);
    }
    if (!read_steps(config.steps) ||
        !list_.read({config.single_ops, config.watch, config.level, nano_}, config.models) ||
        !check_stats(config))
      return false;
    if (config.kernel_data != 0)
      note_value("dump_kernel_data", "not acted on: this build does not capture what kernels print");
    return true;
  }

  void note_value(std::string_view key, std::string_view text) {
    note(*dump_.member(key), kDump.key(key), text);
  }

  bool conflict(std::string_view key, std::string_view reason) {
    return refuse(ConfigFault::conflict, *dump_.member(key), kDump.key(key), reason);
  }

  bool check_scene(const DumpConfig& config) {
    if (!config.watch && config.exception == ExceptionDump::none) return true;
    const std::string advice =
        joined({" does not go with \"dump_scene\": ", in_quotes(dump_.member("dump_scene")->text()),
                ": leave one out"});
    std::string_view key;
    if (config.watch && config.mode != DumpMode::output) key = "dump_mode";
    if (config.single_ops) key = "dump_op_switch";
    if (config.overflow) key = "dump_debug";
    return key.empty() || conflict(key, joined({in_quotes(dump_.member(key)->text()), advice}));
  }

  bool check_nano_scene(const DumpConfig& config) {
    const JsonNode* const list = dump_.member("dump_list");
    if (!config.overflow && config.exception == ExceptionDump::none) {
      return list != nullptr ||
             refuse(ConfigFault::missing, dump_, kList,
                    "missing: a nano product wants a list, if only [] beside single operators");
    }
    if (has_elements(list))
      return conflict("dump_list",
                      "a nano product dumps overflows and exceptions without a list: make it []");
    return !config.single_ops ||
           conflict("dump_op_switch", "\"on\" does not go with overflows or exceptions: switch one off");
  }

  bool check_stats(const DumpConfig& config) {
    const JsonNode* stats = dump_.member("dump_stats");
    if (stats == nullptr) return true;
    if (stats->first() == nullptr)
      return empty(*stats, kDump.key("dump_stats"), joined({"; allowed: ", listed(kStats)}));
    return config.form.data == DumpData::statistics ||
           conflict("dump_stats", "only goes with \"dump_data\": \"stats\": set that, or leave this key out");
  }

  /// The directory of exception dumps is not checked.
  bool copy_path(std::string_view& path) {
    const JsonNode* node = dump_.member("dump_path");
    return node == nullptr || copy(node->text(), path) || no_memory(*node, kDump.key("dump_path"));
  }

  bool read_path(std::string_view& path) {
    const KeyPath at = kDump.key("dump_path");
    const JsonNode* node = dump_.member("dump_path");
    if (node == nullptr) return missing_path(at);
    if (node->text().empty()) return empty(*node, at, ": name the directory to write to");
    return take(*node, at, path,
                [&](std::string& reason) { return parse_dump_path(node->text(), reading_.input, reason); });
  }

  bool missing_path(const KeyPath& at) {
    std::string reason = "missing: name the directory to write to";
    constexpr std::array<std::string_view, 1> kKey = {"dump_path"};
    for (const JsonNode* member = dump_.first(); member != nullptr; member = member->next()) {
      if (closest(member->key(), kKey).empty()) continue;
      reason += joined({"; is ", in_quotes(member->key()), " a slip of the keys?"});
      break;
    }
    return refuse(ConfigFault::missing, dump_, at, reason);
  }

  bool read_steps(StepSet& steps) {
    const JsonNode* node = dump_.member("dump_step");
    return node == nullptr || take(*node, kDump.key("dump_step"), steps, [&](std::string& reason) {
             return parse_steps(node->text(), memory(), reason);
           });
  }

  /// A history waits for an overflow, so it keeps the listed operators.
  bool read_list_for_history(DumpConfig& config) {
    return !keeps_history_ ||
           list_.read({config.single_ops, config.watch, config.level, nano_}, config.models);
  }

  /// With overflow dump CANN does not check the steps before the device reads them.
  bool read_steps_if_good(StepSet& steps) {
    const JsonNode* node = dump_.member("dump_step");
    if (node == nullptr) return true;
    const KeyPath at = kDump.key("dump_step");
    std::string reason;
    const Result<StepSet> read = parse_steps(node->text(), memory(), reason);
    if (read.status() == Status::no_memory) return no_memory(*node, at);
    if (read.ok()) {
      steps = read.value();
    } else {
      note(*node, at, joined({"not looked at, so every step counts: ", reason}));
    }
    return true;
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

  const JsonNode& dump_;
  bool keeps_history_;
  bool nano_;
  AclList list_;
};

}  // namespace

bool read_acl_json(const JsonNode& dump, bool keeps_history, Reading& reading) {
  return AclJson(dump, keeps_history, reading).read(reading.config);
}

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::config
