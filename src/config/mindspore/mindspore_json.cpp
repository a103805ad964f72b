#include "src/config/mindspore/mindspore_json.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <string>
#include <utility>
#include <vector>

#include "opdump/types/overflow.hpp"
#include "src/config/cann/dump_step.hpp"
#include "src/config/json/node_reader.hpp"
#include "src/config/mindspore/mindspore_kernels.hpp"
#include "src/config/mindspore/mindspore_statistics.hpp"

namespace opdump::config {
inline namespace OPDUMP_NAMESPACE {
namespace {

using Words = std::span<const std::string_view>;

constexpr std::array<std::string_view, 3> kRootKeys = {"common_dump_settings", "e2e_dump_settings", "opdump"};
constexpr std::array<std::string_view, 13> kCommonKeys = {
    "dump_mode",     "path",        "net_name",           "iteration",       "input_output",
    "kernels",       "saved_data",  "statistic_category", "overflow_number", "support_device",
    "op_debug_mode", "file_format", "initial_iteration"};
constexpr std::array<std::string_view, 7> kE2eKeys = {
    "enable",      "trans_flag", "stat_calc_mode",  "device_stat_precision_mode",
    "sample_mode", "sample_num", "save_kernel_args"};
// The order of the words is that of the enumerations.
constexpr std::array<std::string_view, 3> kMindSporeData = {"tensor", "statistic", "full"};
constexpr std::array<std::string_view, 2> kFormats = {"bin", "npy"};
constexpr std::array<std::string_view, 2> kSides = {"host", "device"};
constexpr std::array<std::string_view, 2> kPrecisions = {"high", "low"};

constexpr std::uint32_t kOverflowMode = 3;
constexpr std::uint32_t kExceptionMode = 4;

bool is_name_byte(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' || c == '_';
}

bool is_path_byte(char c) {
  return is_name_byte(c) || c == '/';
}

bool is_iteration_byte(char c) {
  return (c >= '0' && c <= '9') || c == '-' || c == '|';
}

class MindSporeJson : NodeReader {
 public:
  MindSporeJson(const JsonNode& root, const ConfigContext& context, Arena& memory, Refusal& refusal)
      : NodeReader(memory, refusal),
        root_(root),
        common_(root.member("common_dump_settings")),
        e2e_(root.member("e2e_dump_settings")),
        context_(context) {
    mode_ = context.mindspore;
    if (mode_ == MindSporeMode::by_file)
      mode_ = e2e_ != nullptr ? MindSporeMode::kernel : MindSporeMode::graph;
    reads_e2e_ = e2e_ != nullptr || mode_ == MindSporeMode::cpu;
  }

  bool read(DumpConfig& config) {
    if (!read_e2e(config) || !check_keys() || !read_common(config)) return false;
    settle(config);
    note_keys();
    return true;
  }

 private:
  static constexpr KeyPath kCommon{nullptr, "common_dump_settings", KeyPath::kNoIndex};
  static constexpr KeyPath kE2e{nullptr, "e2e_dump_settings", KeyPath::kNoIndex};

  // One key.

  bool is_uint(const JsonNode& number) const {
    return number_text(number).find_first_not_of("0123456789") == std::string_view::npos;
  }

  bool read_uint(const JsonNode* node, const KeyPath& at, std::uint32_t& value) {
    if (node == nullptr) return true;
    if (!check_type(node, JsonType::number, at)) return false;
    const std::string_view text = number_text(*node);
    if (!is_uint(*node))
      return refuse(ConfigFault::wrong_type, *node, at,
                    std::string(text) + ", but it must be a whole number, without sign, point or exponent");
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    return error == std::errc{} || refuse(ConfigFault::invalid_value, *node, at,
                                          std::string(text) + " is beyond the largest number, 4294967295");
  }

  /// Reads a number from 0 to `most`; any other value is refused.
  bool read_choice(std::string_view key, std::uint32_t most, std::uint32_t& value) {
    const JsonNode* node = common_->member(key);
    if (!read_uint(node, kCommon.key(key), value)) return false;
    if (node == nullptr || value <= most) return true;
    std::string reason = std::to_string(value) + " is not allowed; allowed: 0";
    for (std::uint32_t i = 1; i <= most; ++i) reason += ", " + std::to_string(i);
    return refuse(ConfigFault::not_in_list, *node, kCommon.key(key), std::move(reason));
  }

  bool read_bool(std::string_view key, bool& value) {
    const JsonNode* node = e2e_->member(key);
    if (node == nullptr) return true;
    if (!check_type(node, JsonType::boolean, kE2e.key(key))) return false;
    value = is_true(*node, refusal_.text());
    return true;
  }

  /// Sets `value` to the word's number. If the key is absent, `value` keeps its default.
  bool read_word(const JsonNode* node, const KeyPath& at, Words words, std::size_t& value) {
    if (node == nullptr) return true;
    if (!check_type(node, JsonType::string, at) || !check_word(*node, node->text(), words, at)) return false;
    value = static_cast<std::size_t>(std::find(words.begin(), words.end(), node->text()) - words.begin());
    return true;
  }

  bool check_bytes(const JsonNode& node, const KeyPath& at, std::string_view text, bool (*allowed)(char),
                   std::string_view advice) {
    return std::all_of(text.begin(), text.end(), allowed) ||
           refuse(ConfigFault::invalid_value, node, at, in_quotes(text) + std::string(advice));
  }

  void note_common(std::string_view key, std::string_view text) {
    if (const JsonNode* node = common_->member(key)) note(*node, kCommon.key(key), text);
  }

  void note_e2e(std::string_view key, std::string_view text) {
    const JsonNode* node = e2e_ == nullptr ? nullptr : e2e_->member(key);
    if (node != nullptr) note(*node, kE2e.key(key), text);
  }

  // "e2e_dump_settings", which is read first.

  bool read_e2e(DumpConfig& config) {
    if (e2e_ == nullptr) return true;
    if (e2e_->type() != JsonType::object) note(*e2e_, kE2e, "is no object, and counts as an empty one");
    bool trans_flag = true;
    std::size_t precision = 0;
    if (!read_bool("enable", config.synchronous) || !read_bool("trans_flag", trans_flag) ||
        !read_bool("save_kernel_args", config.save_kernel_args) ||
        !read_word(e2e_->member("stat_calc_mode"), kE2e.key("stat_calc_mode"), kSides, side_) ||
        !read_word(e2e_->member("device_stat_precision_mode"), kE2e.key("device_stat_precision_mode"),
                   kPrecisions, precision) ||
        !read_sample(config.sample_number))
      return false;
    config.device_format = !trans_flag;
    config.statistics_in_dtype = precision == 1;
    return true;
  }

  bool read_sample(std::uint32_t& number) {
    const JsonNode* mode = e2e_->member("sample_mode");
    std::uint32_t sample_mode = 0;
    if (!read_uint(mode, kE2e.key("sample_mode"), sample_mode)) return false;
    if (sample_mode > 1)
      return refuse(ConfigFault::not_in_list, *mode, kE2e.key("sample_mode"),
                    std::to_string(sample_mode) + " is not allowed; allowed: 0, 1");
    if (sample_mode == 0) {
      note_e2e("sample_num", "not looked at: it only counts with \"sample_mode\": 1");
      return true;
    }
    number = 100;
    const JsonNode* node = e2e_->member("sample_num");
    if (!read_uint(node, kE2e.key("sample_num"), number)) return false;
    return number != 0 || refuse(ConfigFault::invalid_value, *node, kE2e.key("sample_num"),
                                 "0 is not allowed: at least 1 element is kept");
  }

  // "common_dump_settings".

  bool check_keys() {
    constexpr std::array<std::string_view, 6> kRequired = {"dump_mode",    "net_name", "iteration",
                                                           "input_output", "kernels",  "support_device"};
    if (common_ == nullptr)
      return refuse(ConfigFault::missing, root_, kCommon, "missing: MindSpore's settings stand in there");
    for (const std::string_view key : kRequired) {
      if (!check_present(key, "")) return false;
    }
    return reads_e2e_ || check_present("op_debug_mode", ", unless there is an \"e2e_dump_settings\"");
  }

  bool check_present(std::string_view key, std::string_view condition) {
    if (common_->member(key) != nullptr) return true;
    return refuse(ConfigFault::missing, *common_, kCommon.key(key),
                  "missing: MindSpore wants it even where it has no effect" + std::string(condition));
  }

  bool read_common(DumpConfig& config) {
    return read_dump_mode() && read_path(config.dump_path) && read_net_name(config.net_name) &&
           read_iteration(config.steps) && read_choice("input_output", 2, input_output_) &&
           read_kernels(config) && read_devices(config) && read_choice("op_debug_mode", 4, debug_mode_) &&
           fix_debug_mode(config) && read_format(config.form.file_format) &&
           read_overflow_number(config.overflow_number) && read_saved_data(config) &&
           read_uint(common_->member("initial_iteration"), kCommon.key("initial_iteration"),
                     config.first_step) &&
           read_statistics(config);
  }

  bool read_dump_mode() {
    if (!read_choice("dump_mode", 2, dump_mode_)) return false;
    if (dump_mode_ != 2 || mode_ != MindSporeMode::cpu) return true;
    return refuse(ConfigFault::conflict, *common_->member("dump_mode"), kCommon.key("dump_mode"),
                  "2 (what set_dump marks) is for Ascend only: set 0 or 1");
  }

  bool read_path(std::string_view& path) {
    const KeyPath at = kCommon.key("path");
    const JsonNode* node = common_->member("path");
    if (!check_type(node, JsonType::string, at)) return false;
    std::string text(node == nullptr ? std::string_view{} : node->text());
    if (text.empty()) {
      if (context_.diagnostic_path.empty())
        return refuse(node == nullptr ? ConfigFault::missing : ConfigFault::empty,
                      node == nullptr ? *common_ : *node, at,
                      "names no directory to write to, and neither does MS_DIAGNOSTIC_DATA_PATH: set one");
      text = std::string(context_.diagnostic_path) + "/debug_dump";
    }
    const JsonNode& place = node == nullptr ? *common_ : *node;
    if (!check_bytes(place, at, text, is_path_byte,
                     " may consist of letters, digits, -, _ and / only: no dots, no blanks"))
      return false;
    if (text.front() != '/')
      return refuse(ConfigFault::invalid_value, place, at, in_quotes(text) + " must begin with /");
    return copy(text, path) || no_memory(place, at);
  }

  bool read_net_name(std::string_view& name) {
    const KeyPath at = kCommon.key("net_name");
    const JsonNode& node = *common_->member("net_name");
    if (!check_type(&node, JsonType::string, at)) return false;
    if (node.text().empty())
      return empty(node, at, ": name the network; its files lie in a directory of that name");
    return check_bytes(node, at, node.text(), is_name_byte,
                       " may consist of letters, digits, - and _ only") &&
           (copy(node.text(), name) || no_memory(node, at));
  }

  bool read_iteration(StepSet& steps) {
    const KeyPath at = kCommon.key("iteration");
    const JsonNode& node = *common_->member("iteration");
    if (!check_type(&node, JsonType::string, at)) return false;
    if (node.text().empty()) return empty(node, at, ": write \"all\", or steps such as \"0|5-8\"");
    if (node.text() == "all") return true;
    if (!check_bytes(node, at, node.text(), is_iteration_byte,
                     " is neither \"all\" nor steps such as \"0|5-8\"; blanks are not allowed"))
      return false;
    std::string ignored;
    const Result<StepSet> read = parse_iterations(node.text(), memory_, ignored);
    if (!read.ok()) return no_memory(node, at);
    steps = read.value();
    if (!ignored.empty()) note(node, at, ignored + "; it selects nothing");
    return true;
  }

  bool read_kernels(DumpConfig& config) {
    const KeyPath at = kCommon.key("kernels");
    const JsonNode& node = *common_->member("kernels");
    if (!check_type(&node, JsonType::array, at)) return false;
    const Result<std::span<ModelRule>> rules = memory_.array<ModelRule>(1);
    if (!rules.ok()) return no_memory(node, at);
    config.models = rules.value();
    ModelRule& rule = rules.value()[0];
    rule.any_model = true;
    if (dump_mode_ == 1) return MindSporeKernels(node, at, memory_, refusal_).read(rule);
    if (has_elements(&node)) note(node, at, "not looked at: it only counts with \"dump_mode\": 1");
    if (dump_mode_ == 0) return true;
    const Result<std::span<ModelExtras>> extras = memory_.array<ModelExtras>(1);
    if (!extras.ok()) return no_memory(node, at);
    extras.value()[0].marked = true;
    rule.all_layers = false;
    rule.extras = extras.value().data();
    return true;
  }

  bool read_devices(DumpConfig& config) {
    const KeyPath at = kCommon.key("support_device");
    const JsonNode& list = *common_->member("support_device");
    if (!check_type(&list, JsonType::array, at)) return false;
    const Result<std::span<std::uint32_t>> devices = memory_.array<std::uint32_t>(count(&list));
    if (!devices.ok()) return no_memory(list, at);
    std::size_t taken = 0;
    if (!check_each(&list, at, [&](const JsonNode& node, const KeyPath& element) {
          if (!check_type(&node, JsonType::number, element)) return false;
          if (is_uint(node)) return read_uint(&node, element, devices.value()[taken++]);
          note(node, element, "is the number of no device");
          return true;
        }))
      return false;
    const std::span<const std::uint32_t> read = devices.value().first(taken);
    note_twice(list, at, read);
    config.every_device = mode_ == MindSporeMode::cpu;
    if (!config.every_device) config.devices = read;
    return true;
  }

  void note_twice(const JsonNode& list, const KeyPath& at, std::span<const std::uint32_t> devices) {
    std::vector<std::uint32_t> sorted(devices.begin(), devices.end());
    std::sort(sorted.begin(), sorted.end());
    const auto twice = std::adjacent_find(sorted.begin(), sorted.end());
    if (twice != sorted.end()) note(list, at, std::to_string(*twice) + " is named twice and counts once");
  }

  /// Replaces values that conflict with the debug mode; MindSpore does so with a warning.
  bool fix_debug_mode(DumpConfig& config) {
    if (debug_mode_ == 1 || debug_mode_ == 2) {
      note_common("op_debug_mode", std::to_string(debug_mode_) + " counts as 3");
      debug_mode_ = kOverflowMode;
    }
    if (debug_mode_ == 0) return true;
    const std::string because = " with this op_debug_mode";
    if (dump_mode_ != 0) {
      note_common("dump_mode", "counts as 0, every operator," + because);
      const Result<std::span<ModelRule>> rules = memory_.array<ModelRule>(1);
      if (!rules.ok()) return no_memory(*common_, kCommon);
      rules.value()[0].any_model = true;
      config.models = rules.value();
    }
    if (debug_mode_ == kOverflowMode && input_output_ != 0) {
      note_common("input_output", "counts as 0, inputs and outputs," + because);
      input_output_ = 0;
    }
    const bool every_step = !reads_e2e_ || debug_mode_ == kExceptionMode;
    if (every_step && !config.steps.every_step()) {
      note_common("iteration", "counts as \"all\"" + because);
      config.steps = {};
    }
    if (reads_e2e_ && debug_mode_ == kExceptionMode && config.sample_number != 0) {
      note_e2e("sample_mode", "counts as 0, whole tensors," + because);
      config.sample_number = 0;
    }
    return true;
  }

  bool read_format(FileFormat& format) {
    const JsonNode* node = common_->member("file_format");
    format = FileFormat::npy;
    if (reads_e2e_) {
      note_common("file_format", "not looked at: it only counts on O2, and these files are \"npy\"");
      return true;
    }
    std::size_t word = 0;
    if (!read_word(node, kCommon.key("file_format"), kFormats, word)) return false;
    if (word == 0) format = FileFormat::protobuf;
    return true;
  }

  bool read_overflow_number(std::uint32_t& number) {
    const JsonNode* node = common_->member("overflow_number");
    if (debug_mode_ == kOverflowMode || node == nullptr)
      return read_uint(node, kCommon.key("overflow_number"), number);
    return refuse(ConfigFault::conflict, *node, kCommon.key("overflow_number"),
                  "only goes with \"op_debug_mode\": 3: set that, or leave this key out");
  }

  bool read_saved_data(DumpConfig& config) {
    const KeyPath at = kCommon.key("saved_data");
    const JsonNode* node = common_->member("saved_data");
    if (!check_type(node, JsonType::string, at)) return false;
    if (reads_e2e_ && debug_mode_ == kExceptionMode) {
      if (node != nullptr && node->text() != kMindSporeData[0])
        note(*node, at, "counts as \"tensor\" with this op_debug_mode");
      return true;
    }
    std::size_t word = 0;
    if (!read_word(node, at, kMindSporeData, word)) return false;
    config.form.data = static_cast<DumpData>(word);
    if (word != 0 && !reads_e2e_ && config.form.file_format != FileFormat::npy)
      return refuse(ConfigFault::conflict, *node, at,
                    in_quotes(node->text()) + " only goes with \"file_format\": \"npy\" on O2: set that");
    if (word != 0 && mode_ == MindSporeMode::cpu)
      note(*node, at, "is refused by MindSpore on a CPU; here it means what it means on a GPU");
    return true;
  }

  bool read_statistics(DumpConfig& config) {
    fix_side(config);
    const KeyPath at = kCommon.key("statistic_category");
    const JsonNode* node = common_->member("statistic_category");
    if (config.form.data != DumpData::tensor)
      return MindSporeStatistics(node, at, memory_, refusal_).read(config);
    if (node != nullptr) note(*node, at, "not looked at: it only counts with saved_data statistic or full");
    return true;
  }

  void fix_side(DumpConfig& config) {
    if (side_ == 0) return;
    std::string_view why;
    if (config.form.data != DumpData::statistics) why = "it only goes with \"saved_data\": \"statistic\"";
    if (mode_ == MindSporeMode::cpu) why = "there is no such device";
    if (debug_mode_ == kOverflowMode && !config.synchronous)
      why = "with op_debug_mode 3 it only goes with \"enable\": true";
    config.form.statistics_on_device = why.empty();
    if (!why.empty()) note_e2e("stat_calc_mode", "counts as \"host\": " + std::string(why));
  }

  // Consequences of all keys together.

  void settle(DumpConfig& config) {
    constexpr DumpMode kModes[] = {DumpMode::all, DumpMode::input, DumpMode::output};
    constexpr Layout kLayouts[] = {Layout::cann, Layout::mindspore_kernel, Layout::mindspore_graph,
                                   Layout::mindspore_cpu};
    config.mode = kModes[input_output_];
    config.form.layout = kLayouts[static_cast<std::size_t>(mode_)];
    config.form.world_size = context_.world_size;
    config.form.rank = context_.rank;
    drop_idle_settings(config);
    config.asked = asks(config);
    config.overflow = config.asked && debug_mode_ == kOverflowMode;
    if (config.asked && debug_mode_ == kExceptionMode) config.exception = ExceptionDump::brief;
    config.active = config.asked;
    if (config.asked) note_abilities(config);
    if (config.asked && context_.ge_dump && mode_ == MindSporeMode::graph)
      refusal_.note(root_.offset(), "ENABLE_MS_GE_DUMP",
                    "the variable is not followed: directories are those of O2 without it; with \"opdump\": "
                    "{\"layout\": \"cann\"} tensors lie in those of GE");
  }

  /// Whether MindSpore dumps anything with this file.
  bool asks(const DumpConfig& config) {
    if (mode_ == MindSporeMode::kernel && e2e_ == nullptr) {
      note(root_, kE2e, "missing: without it nothing is dumped on O0 and O1; add \"e2e_dump_settings\": {}");
      return false;
    }
    if (mode_ == MindSporeMode::graph && e2e_ != nullptr) {
      note(*e2e_, kE2e, "is not for O2, where nothing is dumped with it: leave it out");
      return false;
    }
    if (mode_ == MindSporeMode::cpu && debug_mode_ == kExceptionMode) {
      note_common("op_debug_mode", "4 saves nothing on CPU and GPU");
      return false;
    }
    if (debug_mode_ == kExceptionMode && reads_e2e_ && input_output_ == 2) {
      note_common("input_output", "2 saves nothing with op_debug_mode 4, which is about inputs");
      return false;
    }
    if (!config.every_device && config.devices.empty()) {
      note_common("support_device", "names no device: nothing is dumped on any");
      return false;
    }
    return !config.steps.no_step();
  }

  void drop_idle_settings(DumpConfig& config) {
    const bool cpu = mode_ == MindSporeMode::cpu;
    if (cpu && config.sample_number != 0) {
      note_e2e("sample_mode", "has no effect on CPU and GPU: tensors are whole");
      config.sample_number = 0;
    }
    if (cpu && config.device_format) {
      note_e2e("trans_flag", "false has no effect on CPU and GPU");
      config.device_format = false;
    }
    if (config.save_kernel_args && (cpu || !config.synchronous || config.form.statistics_on_device)) {
      note_e2e("save_kernel_args",
               cpu ? "has no effect on CPU and GPU"
                   : "has no effect but with \"enable\": true and statistics of the host");
      config.save_kernel_args = false;
    }
  }

  void note_abilities(const DumpConfig& config) {
    if (config.synchronous)
      note_e2e("enable", mode_ == MindSporeMode::cpu
                             ? "true has no effect on CPU and GPU"
                             : "true only lets through what MindSpore ties to it (save_kernel_args, device "
                               "statistics of overflows); when files are written is up to \"when_full\"");
    if (config.statistics_in_dtype)
      note_e2e("device_stat_precision_mode",
               "\"low\" has no effect: statistics are computed as exactly as with \"high\", or more");
    if (!config.form.statistics_on_device) return;
    note_e2e("stat_calc_mode",
             "\"device\" holds where the program's device memory computes statistics, as that for OpenCL does; with "
             "others, that for Ascend among them, and for dtypes that it cannot, the host computes the same ones");
  }

  void note_keys() {
    note_unknown_keys(root_, KeyPath{}, kRootKeys);
    note_unknown_keys(*common_, kCommon, kCommonKeys);
    if (e2e_ != nullptr) note_unknown_keys(*e2e_, kE2e, kE2eKeys);
  }

  const JsonNode& root_;
  const JsonNode* common_;
  const JsonNode* e2e_;
  const ConfigContext& context_;
  MindSporeMode mode_;
  bool reads_e2e_;  ///< the rules of e2e dump apply
  std::uint32_t dump_mode_ = 0;
  std::uint32_t input_output_ = 0;
  std::uint32_t debug_mode_ = 0;
  std::size_t side_ = 0;
};

}  // namespace

bool read_mindspore_json(const JsonNode& root, const ConfigContext& context, Arena& memory,
                         DumpConfig& config, Refusal& refusal) {
  return MindSporeJson(root, context, memory, refusal).read(config);
}

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::config
