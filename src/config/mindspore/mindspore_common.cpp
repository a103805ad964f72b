#include "src/config/mindspore/mindspore_common.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "src/config/cann/dump_step.hpp"
#include "src/config/json/node_reader.hpp"
#include "src/config/mindspore/mindspore_kernels.hpp"
#include "src/config/mindspore/mindspore_statistics.hpp"

namespace opdump::config {
inline namespace OPDUMP_NAMESPACE {
namespace {

// The order of the words is that of the enumerations.
constexpr std::array<std::string_view, 3> kMindSporeData = {"tensor", "statistic", "full"};
constexpr std::array<std::string_view, 2> kFormats = {"bin", "npy"};

bool is_name_byte(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' || c == '_';
}

bool is_path_byte(char c) {
  return is_name_byte(c) || c == '/';
}

bool is_iteration_byte(char c) {
  return (c >= '0' && c <= '9') || c == '-' || c == '|';
}

}  // namespace

bool MindSporeCommon::read(DumpConfig& config) {
  return check_keys() && read_dump_mode() && read_path(config.dump_path) && read_net_name(config.net_name) &&
         read_iteration(config.steps) && read_choice("input_output", 2, input_output_) &&
         read_kernels(config) && read_devices(config) && read_choice("op_debug_mode", 4, debug_mode_) &&
         fix_debug_mode(config) && read_format(config.form.file_format) &&
         read_overflow_number(config.overflow_number) && read_saved_data(config) &&
         read_uint("initial_iteration", config.first_step) && read_statistics(config);
}

bool MindSporeCommon::check_keys() {
  constexpr std::array<std::string_view, 6> kRequired = {"dump_mode",    "net_name", "iteration",
                                                         "input_output", "kernels",  "support_device"};
  for (const std::string_view key : kRequired) {
    if (!check_present(key, "")) return false;
  }
  return rules_.has_e2e || check_present("op_debug_mode", ", unless there is an \"e2e_dump_settings\"");
}

bool MindSporeCommon::check_present(std::string_view key, std::string_view condition) {
  if (member(key) != nullptr) return true;
  return refuse(ConfigFault::missing, *object_, path_of(key),
                "missing: MindSpore wants it even where it has no effect" + std::string(condition));
}

bool MindSporeCommon::check_bytes(const JsonNode& node, const KeyPath& at, std::string_view text,
                                  bool (*allowed)(char), std::string_view advice) {
  return std::all_of(text.begin(), text.end(), allowed) ||
         refuse(ConfigFault::invalid_value, node, at, in_quotes(text) + std::string(advice));
}

bool MindSporeCommon::read_dump_mode() {
  if (!read_choice("dump_mode", 2, dump_mode_)) return false;
  if (dump_mode_ != 2 || !rules_.are_cpu()) return true;
  return refuse(ConfigFault::conflict, *member("dump_mode"), path_of("dump_mode"),
                "2 (what set_dump marks) is for Ascend only: set 0 or 1");
}

bool MindSporeCommon::read_path(std::string_view& path) {
  const KeyPath at = path_of("path");
  const JsonNode* node = member("path");
  if (!check_type(node, JsonType::string, at)) return false;
  std::string text(node == nullptr ? std::string_view{} : node->text());
  if (text.empty()) {
    if (reading_.input.context.diagnostic_path.empty())
      return refuse(node == nullptr ? ConfigFault::missing : ConfigFault::empty,
                    node == nullptr ? *object_ : *node, at,
                    "names no directory to write to, and neither does MS_DIAGNOSTIC_DATA_PATH: set one");
    text = std::string(reading_.input.context.diagnostic_path) + "/debug_dump";
  }
  const JsonNode& place = node == nullptr ? *object_ : *node;
  if (!check_bytes(place, at, text, is_path_byte,
                   " may consist of letters, digits, -, _ and / only: no dots, no blanks"))
    return false;
  if (text.front() != '/')
    return refuse(ConfigFault::invalid_value, place, at, in_quotes(text) + " must begin with /");
  return copy(text, path) || no_memory(place, at);
}

bool MindSporeCommon::read_net_name(std::string_view& name) {
  const KeyPath at = path_of("net_name");
  const JsonNode& node = *member("net_name");
  if (!check_type(&node, JsonType::string, at)) return false;
  if (node.text().empty())
    return empty(node, at, ": name the network; its files lie in a directory of that name");
  return check_bytes(node, at, node.text(), is_name_byte, " may consist of letters, digits, - and _ only") &&
         (copy(node.text(), name) || no_memory(node, at));
}

bool MindSporeCommon::read_iteration(StepSet& steps) {
  const KeyPath at = path_of("iteration");
  const JsonNode& node = *member("iteration");
  if (!check_type(&node, JsonType::string, at)) return false;
  if (node.text().empty()) return empty(node, at, ": write \"all\", or steps such as \"0|5-8\"");
  if (node.text() == "all") return true;
  if (!check_bytes(node, at, node.text(), is_iteration_byte,
                   " is neither \"all\" nor steps such as \"0|5-8\"; blanks are not allowed"))
    return false;
  std::string ignored;
  const Result<StepSet> read = parse_iterations(node.text(), memory(), ignored);
  if (!read.ok()) return no_memory(node, at);
  steps = read.value();
  if (!ignored.empty()) note(node, at, ignored + "; it selects nothing");
  return true;
}

bool MindSporeCommon::read_kernels(DumpConfig& config) {
  const KeyPath at = path_of("kernels");
  const JsonNode& node = *member("kernels");
  if (!check_type(&node, JsonType::array, at)) return false;
  const Result<std::span<ModelRule>> rules = memory().array<ModelRule>(1);
  if (!rules.ok()) return no_memory(node, at);
  config.models = rules.value();
  ModelRule& rule = rules.value()[0];
  rule.any_model = true;
  if (dump_mode_ == 1) return MindSporeKernels(node, at, reading_).read(rule);
  if (has_elements(&node)) note(node, at, "not looked at: it only counts with \"dump_mode\": 1");
  if (dump_mode_ == 0) return true;
  const Result<std::span<ModelExtras>> extras = memory().array<ModelExtras>(1);
  if (!extras.ok()) return no_memory(node, at);
  extras.value()[0].marked = true;
  rule.all_layers = false;
  rule.extras = extras.value().data();
  return true;
}

bool MindSporeCommon::read_devices(DumpConfig& config) {
  const KeyPath at = path_of("support_device");
  const JsonNode& list = *member("support_device");
  if (!check_type(&list, JsonType::array, at)) return false;
  const Result<std::span<std::uint32_t>> devices = memory().array<std::uint32_t>(count(&list));
  if (!devices.ok()) return no_memory(list, at);
  std::size_t taken = 0;
  if (!check_each(&list, at, [&](const JsonNode& node, const KeyPath& element) {
        if (!check_type(&node, JsonType::number, element)) return false;
        if (is_uint(node)) return read_uint(node, element, devices.value()[taken++]);
        note(node, element, "is the number of no device");
        return true;
      }))
    return false;
  const std::span<const std::uint32_t> read = devices.value().first(taken);
  note_twice(list, at, read);
  config.every_device = rules_.are_cpu();
  if (!config.every_device) config.devices = read;
  return true;
}

void MindSporeCommon::note_twice(const JsonNode& list, const KeyPath& at,
                                 std::span<const std::uint32_t> devices) {
  std::vector<std::uint32_t> sorted(devices.begin(), devices.end());
  std::sort(sorted.begin(), sorted.end());
  const auto twice = std::adjacent_find(sorted.begin(), sorted.end());
  if (twice != sorted.end()) note(list, at, std::to_string(*twice) + " is named twice and counts once");
}

/// Replaces values that conflict with the debug mode; MindSpore does so with a warning.
bool MindSporeCommon::fix_debug_mode(DumpConfig& config) {
  if (debug_mode_ == 1 || debug_mode_ == 2) {
    note_key("op_debug_mode", std::to_string(debug_mode_) + " counts as 3");
    debug_mode_ = kOverflowMode;
  }
  if (debug_mode_ == 0) return true;
  const std::string because = " with this op_debug_mode";
  if (dump_mode_ != 0) {
    note_key("dump_mode", "counts as 0, every operator," + because);
    const Result<std::span<ModelRule>> rules = memory().array<ModelRule>(1);
    if (!rules.ok()) return no_memory(*object_, kPath);
    rules.value()[0].any_model = true;
    config.models = rules.value();
  }
  if (is_overflow_dump() && input_output_ != 0) {
    note_key("input_output", "counts as 0, inputs and outputs," + because);
    input_output_ = 0;
  }
  const bool every_step = !rules_.has_e2e || is_exception_dump();
  if (every_step && !config.steps.every_step()) {
    note_key("iteration", "counts as \"all\"" + because);
    config.steps = {};
  }
  if (rules_.has_e2e && is_exception_dump() && config.sample_number != 0) {
    e2e_.note_key("sample_mode", "counts as 0, whole tensors," + because);
    config.sample_number = 0;
  }
  return true;
}

bool MindSporeCommon::read_format(FileFormat& format) {
  format = FileFormat::npy;
  if (rules_.has_e2e) {
    note_key("file_format", "not looked at: it only counts on O2, and these files are \"npy\"");
    return true;
  }
  std::size_t word = 0;
  if (!read_word("file_format", kFormats, word)) return false;
  if (word == 0) format = FileFormat::protobuf;
  return true;
}

bool MindSporeCommon::read_overflow_number(std::uint32_t& number) {
  const JsonNode* node = member("overflow_number");
  if (is_overflow_dump() || node == nullptr) return read_uint("overflow_number", number);
  return refuse(ConfigFault::conflict, *node, path_of("overflow_number"),
                "only goes with \"op_debug_mode\": 3: set that, or leave this key out");
}

bool MindSporeCommon::read_saved_data(DumpConfig& config) {
  const KeyPath at = path_of("saved_data");
  const JsonNode* node = member("saved_data");
  if (!check_type(node, JsonType::string, at)) return false;
  if (rules_.has_e2e && is_exception_dump()) {
    if (node != nullptr && node->text() != kMindSporeData[0])
      note(*node, at, "counts as \"tensor\" with this op_debug_mode");
    return true;
  }
  std::size_t word = 0;
  if (!read_word("saved_data", kMindSporeData, word)) return false;
  config.form.data = static_cast<DumpData>(word);
  if (word != 0 && !rules_.has_e2e && config.form.file_format != FileFormat::npy)
    return refuse(ConfigFault::conflict, *node, at,
                  in_quotes(node->text()) + " only goes with \"file_format\": \"npy\" on O2: set that");
  if (word != 0 && rules_.are_cpu())
    note(*node, at, "is refused by MindSpore on a CPU; here it means what it means on a GPU");
  return true;
}

bool MindSporeCommon::read_statistics(DumpConfig& config) {
  fix_side(config);
  const KeyPath at = path_of("statistic_category");
  const JsonNode* node = member("statistic_category");
  if (config.form.data != DumpData::tensor) return MindSporeStatistics(node, at, reading_).read(config);
  if (node != nullptr) note(*node, at, "not looked at: it only counts with saved_data statistic or full");
  return true;
}

void MindSporeCommon::fix_side(DumpConfig& config) {
  if (!e2e_.is_on_device()) return;
  std::string_view why;
  if (config.form.data != DumpData::statistics) why = "it only goes with \"saved_data\": \"statistic\"";
  if (rules_.are_cpu()) why = "there is no such device";
  if (is_overflow_dump() && !config.synchronous)
    why = "with op_debug_mode 3 it only goes with \"enable\": true";
  config.form.statistics_on_device = why.empty();
  if (!why.empty()) e2e_.note_key("stat_calc_mode", "counts as \"host\": " + std::string(why));
}

void MindSporeCommon::note_unread_keys() {
  note_unknown_keys(*object_, kPath, kCommonKeys, {{"\"e2e_dump_settings\"", kE2eKeys}, kKeysOfOptions});
}

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::config
