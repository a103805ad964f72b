#pragma once
#include <array>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>

#include "opdump/base/arena.hpp"
#include "src/config/json/json_tree.hpp"
#include "src/config/refusal.hpp"

namespace opdump::config {
inline namespace OPDUMP_NAMESPACE {

/// The keys of "dump" in CANN's acl.json.
inline constexpr std::array<std::string_view, 11> kAclKeys = {
    "dump_path",  "dump_mode",        "dump_op_switch", "dump_level", "dump_scene", "dump_data",
    "dump_debug", "dump_kernel_data", "dump_step",      "dump_stats", "dump_list"};

/// The keys of an item of its "dump_list".
inline constexpr std::array<std::string_view, 6> kListKeys = {
    "model_name", "layer", "watcher_nodes", "optype_blacklist", "opname_blacklist", "opname_range"};

/// The keys of "opdump" beside any dialect's own object.
inline constexpr std::array<std::string_view, 25> kOptionKeys = {
    "after_steps",       "block_limit_ms", "digest",         "file_format", "fsync",
    "history_bytes",     "history_steps",  "journal",        "keep",        "layout",
    "max_bytes",         "max_files",      "model_card",     "on_crash",    "privacy",
    "privacy_unmatched", "reserve_bytes",  "ring_bytes",     "seal",        "statistic_numbers",
    "trailing_comma",    "trigger",        "trigger_limits", "watch",       "when_full"};

/// The keys of MindSpore's two objects.
inline constexpr std::array<std::string_view, 13> kCommonKeys = {
    "dump_mode",     "path",        "net_name",           "iteration",       "input_output",
    "kernels",       "saved_data",  "statistic_category", "overflow_number", "support_device",
    "op_debug_mode", "file_format", "initial_iteration"};
inline constexpr std::array<std::string_view, 7> kE2eKeys = {
    "enable",      "trans_flag", "stat_calc_mode",  "device_stat_precision_mode",
    "sample_mode", "sample_num", "save_kernel_args"};

inline constexpr KeysOf kKeysOfDump = {"\"dump\" itself", kAclKeys};
inline constexpr KeysOf kKeysOfList = {"an item of \"dump_list\"", kListKeys};
inline constexpr KeysOf kKeysOfOptions = {"\"opdump\"", kOptionKeys};

/// The base of the readers of a config's objects. A check that fails has refused the text.
class NodeReader {
 protected:
  explicit NodeReader(Reading& reading) : reading_(reading) {}

  Arena& memory() const { return reading_.input.memory; }

  static std::size_t count(const JsonNode* array);

  static bool has_elements(const JsonNode* array) { return array != nullptr && array->first() != nullptr; }

  bool check_type(const JsonNode* node, JsonType type, const KeyPath& at);

  /// `array` null: there is nothing to check.
  template <class Check>
  bool check_each(const JsonNode* array, const KeyPath& at, Check check) {
    if (array == nullptr) return true;
    std::size_t index = 0;
    for (const JsonNode* element = array->first(); element != nullptr; element = element->next()) {
      if (!check(*element, at.element(index++))) return false;
    }
    return true;
  }

  /// Also checks the type of each element.
  bool check_array_of(const JsonNode* node, JsonType type, const KeyPath& at);

  /// Checks each element: first its type, then by `check`.
  template <class Check>
  bool check_array_of(const JsonNode* node, JsonType type, const KeyPath& at, Check check) {
    if (!check_type(node, JsonType::array, at)) return false;
    return check_each(node, at, [&](const JsonNode& element, const KeyPath& element_at) {
      return check_type(&element, type, element_at) && check(element, element_at);
    });
  }

  bool check_word(const JsonNode& node, std::string_view word, std::span<const std::string_view> words,
                  const KeyPath& at);

  /// Reads a whole number from `least` to `most`.
  bool parse_number(const JsonNode& node, const KeyPath& at, std::uint64_t least, std::uint64_t most,
                    std::uint64_t& number);

  /// The characters of a number, as they are written.
  std::string_view number_text(const JsonNode& number) const;

  /// Notes the members that no reader reads. `elsewhere`: keys of other objects of the same config.
  void note_unknown_keys(const JsonNode& object, const KeyPath& at, std::span<const std::string_view> keys,
                         std::initializer_list<KeysOf> elsewhere = {});

  /// False when the memory is full.
  bool copy(std::string_view text, std::string_view& to);
  bool copy_texts(const JsonNode* array, std::span<const std::string_view>& to);

  bool empty(const JsonNode& node, const KeyPath& at, std::string_view advice);
  bool no_memory(const JsonNode& node, const KeyPath& at);
  bool refuse(ConfigFault fault, const JsonNode& node, const KeyPath& at, std::string_view reason);
  void note(const JsonNode& node, const KeyPath& at, std::string_view text);

  Reading& reading_;
};

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::config
