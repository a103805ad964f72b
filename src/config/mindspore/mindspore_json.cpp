#include "src/config/mindspore/mindspore_json.hpp"

#include <array>
#include <string_view>

#include "src/config/json/node_reader.hpp"
#include "src/config/mindspore/mindspore_common.hpp"
#include "src/config/mindspore/mindspore_e2e.hpp"

namespace opdump::config {
inline namespace OPDUMP_NAMESPACE {
namespace {

constexpr std::array<std::string_view, 3> kRootKeys = {"common_dump_settings", "e2e_dump_settings", "opdump"};

MindSporeRules rules_of(const MindSporeE2e& e2e, MindSporeMode mode) {
  const bool has_e2e = e2e.object() != nullptr;
  if (mode == MindSporeMode::by_file) mode = has_e2e ? MindSporeMode::kernel : MindSporeMode::graph;
  return {.mode = mode, .has_e2e = has_e2e || mode == MindSporeMode::cpu};
}

/// Has both objects read, and draws the consequences of all keys together.
class MindSporeJson : NodeReader {
 public:
  MindSporeJson(const JsonNode& root, Reading& reading)
      : NodeReader(reading),
        root_(root),
        e2e_(root.member(MindSporeE2e::kPath.name), reading),
        rules_(rules_of(e2e_, reading.input.context.mindspore)),
        common_(root.member(MindSporeCommon::kPath.name), rules_, e2e_, reading) {}

  bool read(DumpConfig& config) {
    if (!e2e_.read(config)) return false;
    if (common_.object() == nullptr)
      return refuse(ConfigFault::missing, root_, MindSporeCommon::kPath,
                    "missing: MindSpore's settings stand in there");
    if (!common_.read(config)) return false;
    settle(config);
    note_unknown_keys(root_, KeyPath{}, kRootKeys,
                      {{"\"common_dump_settings\"", kCommonKeys}, {"\"e2e_dump_settings\"", kE2eKeys}});
    common_.note_unread_keys();
    e2e_.note_unread_keys();
    return true;
  }

 private:
  void settle(DumpConfig& config) {
    constexpr DumpMode kModes[] = {DumpMode::all, DumpMode::input, DumpMode::output};
    constexpr Layout kLayouts[] = {Layout::cann, Layout::mindspore_kernel, Layout::mindspore_graph,
                                   Layout::mindspore_cpu};
    config.mode = kModes[common_.input_output()];
    config.form.layout = kLayouts[static_cast<std::size_t>(rules_.mode)];
    config.form.world_size = reading_.input.context.world_size;
    config.form.rank = reading_.input.context.rank;
    drop_idle_settings(config);
    config.asked = asks(config);
    config.overflow = config.asked && common_.is_overflow_dump();
    if (config.asked && common_.is_exception_dump()) config.exception = ExceptionDump::brief;
    config.active = config.asked;
    if (config.asked) note_abilities(config);
    if (config.asked && reading_.input.context.ge_dump && rules_.mode == MindSporeMode::graph)
      reading_.note(root_.offset(), "ENABLE_MS_GE_DUMP",
                    "the variable is not followed: directories are those of O2 without it; with \"opdump\": "
                    "{\"layout\": \"cann\"} tensors lie in those of GE");
  }

  /// Whether MindSpore dumps anything with this file.
  bool asks(const DumpConfig& config) {
    if (rules_.mode == MindSporeMode::kernel && e2e_.object() == nullptr) {
      note(root_, MindSporeE2e::kPath,
           "missing: without it nothing is dumped on O0 and O1; add \"e2e_dump_settings\": {}");
      return false;
    }
    if (rules_.mode == MindSporeMode::graph && e2e_.object() != nullptr) {
      note(*e2e_.object(), MindSporeE2e::kPath,
           "is not for O2, where nothing is dumped with it: leave it out");
      return false;
    }
    if (rules_.are_cpu() && common_.is_exception_dump()) {
      common_.note_key("op_debug_mode", "4 saves nothing on CPU and GPU");
      return false;
    }
    if (common_.is_exception_dump() && rules_.has_e2e && common_.input_output() == 2) {
      common_.note_key("input_output", "2 saves nothing with op_debug_mode 4, which is about inputs");
      return false;
    }
    if (!config.every_device && config.devices.empty()) {
      common_.note_key("support_device", "names no device: nothing is dumped on any");
      return false;
    }
    return !config.steps.no_step();
  }

  void drop_idle_settings(DumpConfig& config) {
    const bool cpu = rules_.are_cpu();
    if (cpu && config.sample_number != 0) {
      e2e_.note_key("sample_mode", "has no effect on CPU and GPU: tensors are whole");
      config.sample_number = 0;
    }
    if (cpu && config.device_format) {
      e2e_.note_key("trans_flag", "false has no effect on CPU and GPU");
      config.device_format = false;
    }
    if (config.save_kernel_args && (cpu || !config.synchronous || config.form.statistics_on_device)) {
      e2e_.note_key("save_kernel_args",
                    cpu ? "has no effect on CPU and GPU"
                        : "has no effect but with \"enable\": true and statistics of the host");
      config.save_kernel_args = false;
    }
  }

  void note_abilities(const DumpConfig& config) {
    if (config.overflow) note_overflow(config);
    const ModelExtras* const extras = config.models[0].extras;
    if (rules_.mode == MindSporeMode::graph && extras != nullptr && !extras->type_parts.empty())
      common_.note_key(
          "kernels",
          "types are not in MindSpore's document of O2, which has names and \"name-regex(...)\" alone; "
          "here they count as on O0");
    if (rules_.are_cpu()) {
      e2e_.note_key("enable", "has no effect on CPU and GPU");
    } else if (config.synchronous) {
      e2e_.note_key("enable",
                    "true only lets through what MindSpore ties to it (save_kernel_args, device "
                    "statistics of overflows); when files are written is up to \"when_full\"");
    }
    if (config.statistics_in_dtype)
      e2e_.note_key("device_stat_precision_mode",
                    "\"low\" has no effect: statistics are computed as exactly as with \"high\", or more");
    if (!config.form.statistics_on_device) return;
    e2e_.note_key(
        "stat_calc_mode",
        "\"device\" holds where the program's device memory computes statistics, as that for OpenCL does; "
        "with others, that for Ascend among them, and for dtypes that it cannot, the host computes the same "
        "ones");
  }

  /// MindSpore's document has whole tensors alone with overflows, and on Ascend alone; the product takes more.
  void note_overflow(const DumpConfig& config) {
    if (rules_.are_cpu())
      common_.note_key(
          "op_debug_mode",
          "3 finds no overflow in MindSpore on CPU and GPU; here it finds what the program reports");
    if (config.sample_number != 0)
      e2e_.note_key(
          "sample_mode",
          "1 holds for operators that overflow too: the element that did may be one of those left out");
    if (config.form.data == DumpData::statistics)
      common_.note_key(
          "saved_data",
          "\"statistic\" holds for operators that overflow too: only rows of a table come, no tensors");
  }

  const JsonNode& root_;
  MindSporeE2e e2e_;
  const MindSporeRules rules_;
  MindSporeCommon common_;
};

}  // namespace

bool read_mindspore_json(const JsonNode& root, Reading& reading) {
  return MindSporeJson(root, reading).read(reading.config);
}

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::config
