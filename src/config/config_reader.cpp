#include "opdump/config/parse.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <string>
#include <vector>

#include "src/config/config_reader.hpp"
#include "src/config/json/byte_words.hpp"
#include "src/config/json/json_tree.hpp"
#include "src/config/json/node_reader.hpp"
#include "src/config/letters.hpp"
#include "src/config/options_json.hpp"
#include "src/config/refusal.hpp"

namespace opdump {
namespace config {
namespace {

constexpr std::size_t kMaxNesting = 10;

constexpr std::string_view kOptionsKey = "opdump";

/// The keys of the dialects from `acl` on, in their order. The two of MindSpore have the same one.
constexpr std::array<std::string_view, 4> kDialectKeys = {"dump", "common_dump_settings", "dump_config",
                                                          "common_dump_settings"};

/// Their files, and their words in the build option `dialects`.
constexpr std::array<std::string_view, 4> kDialectFiles = {"CANN's acl.json", "MindSpore's data_dump.json",
                                                           "torchair's options", "MindSpore Lite's config"};
constexpr std::array<std::string_view, 4> kDialectOptions = {"cann", "mindspore", "torchair", "lite"};

/// Keys that MindSpore demands or that switch on what only it can do; its Lite knows none of them.
constexpr std::string_view kNotOfLite[] = {"iteration",   "support_device",     "op_debug_mode",
                                           "saved_data",  "statistic_category", "overflow_number",
                                           "file_format", "initial_iteration"};

/// Whether a text with MindSpore's key is meant for its Lite: it has what Lite wants, and nothing besides.
bool is_lite(const JsonNode& root) {
  const JsonNode& common = *root.member(kDialectKeys[1]);
  if (root.member("e2e_dump_settings") != nullptr || common.member("dump_mode") == nullptr ||
      common.member("path") == nullptr)
    return false;
  return std::none_of(std::begin(kNotOfLite), std::end(kNotOfLite),
                      [&](std::string_view key) { return common.member(key) != nullptr; });
}

/// Whether one of the eight bytes is a bracket of either kind, or zero.
bool has_bracket_or_nul(ByteWord bytes) {
  // "[" and "{" differ only in this bit, and so do "]" and "}".
  const ByteWord folded = bytes | eight_times('{' ^ '[');
  return (zero_bytes(folded ^ eight_times('{')) | zero_bytes(folded ^ eight_times('}')) |
          zero_bytes(bytes)) != 0;
}

/// The byte at which CANN refuses a text for its nesting; `npos`: there is none. CANN counts the raw bytes,
/// those inside strings too, up to a NUL byte.
std::size_t find_too_deep(std::string_view text) {
  std::size_t objects = 0;
  std::size_t arrays = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    while (text.size() - i > sizeof(ByteWord) && !has_bracket_or_nul(load_word(text.data() + i)))
      i += sizeof(ByteWord);
    const char c = text[i];
    if (c == '\0') break;
    if (c == '{') ++objects;
    if (c == '[') ++arrays;
    if (c == '}' && objects > 0) --objects;
    if (c == ']' && arrays > 0) --arrays;
    if (std::max(objects, arrays) > kMaxNesting) return i;
  }
  return std::string_view::npos;
}

/// For CANN, a file without "dump" asks for nothing; so a misspelt "dump", and a key of its, gets a note.
void note_misspelt_key(const JsonNode& root, Refusal& refusal) {
  for (const JsonNode* member = root.first(); member != nullptr && refusal.takes_notes();
       member = member->next()) {
    const std::string_view near = closest(member->key(), kDialectKeys);
    const std::string why = near.empty() ? belongs_in(member->key(), {{"\"dump\"", kAclKeys}, kKeysOfList})
                                         : joined({kSlipOfKeys, in_quotes(near), "?"});
    if (!why.empty())
      refusal.note(member->key_offset(), member->key(), joined({"unknown, and ignored", why}));
  }
}

/// Refuses keys that can only be meant for the "opdump" beside a dialect's own object: without it what is written would
/// be more, or less protected, than was asked for. Other keys are left to those who read the file too.
bool check_keys_beside(const JsonNode& root, Refusal& refusal) {
  constexpr std::array<std::string_view, 2> kObjects = {kOptionsKey, kDialectKeys[0]};
  const auto in_small = [](std::string_view key) {
    std::string small(key);
    std::transform(small.begin(), small.end(), small.begin(), lower);
    return small;
  };
  const auto is_one_of = [](std::string_view key, std::span<const std::string_view> keys) {
    return position_of(key, keys) != keys.size();
  };
  for (const JsonNode* member = root.first(); member != nullptr; member = member->next()) {
    const std::string_view key = member->key();
    if (key == kOptionsKey || is_one_of(key, kDialectKeys)) continue;
    std::string why;
    if (!is_one_of(key, kCommonKeys)) why = belongs_in(key, {kKeysOfOptions});
    const std::string_view near = closest(key, kObjects);
    // Short words of others are near to "dump" too.
    const bool is_near = near == kOptionsKey || (!near.empty() && in_small(key) == near);
    if (why.empty() && is_near) why = joined({"; did you mean ", in_quotes(near), "?"});
    if (!why.empty())
      return refusal.refuse(ConfigFault::not_in_list, member->key_offset(), key,
                            joined({"unknown key", why}));
  }
  const JsonNode* const dump = root.member(kDialectKeys[0]);
  const JsonNode* const inside = dump == nullptr ? nullptr : dump->member(kOptionsKey);
  return inside == nullptr || refusal.refuse(ConfigFault::not_in_list, inside->key_offset(), "dump.opdump",
                                             "unknown key; it belongs beside \"dump\", not in it");
}

/// Notes the keys that stand several times in one object, in `node` and everything below it: readers of JSON
/// disagree on which one counts.
void note_repeated_keys(const JsonNode& node, const KeyPath& path, Refusal& refusal) {
  const bool is_object = node.type() == JsonType::object;
  std::vector<const JsonNode*> members;
  std::size_t index = 0;
  for (const JsonNode* child = node.first(); child != nullptr && refusal.takes_notes();
       child = child->next()) {
    if (is_object) members.push_back(child);
    note_repeated_keys(*child, is_object ? path.key(child->key()) : path.element(index++), refusal);
  }
  // Nodes of one object lie in the order of the text. Not std::stable_sort, which is 3 KiB of code.
  std::sort(members.begin(), members.end(), [](const JsonNode* a, const JsonNode* b) {
    const int order = a->key().compare(b->key());
    return order != 0 ? order < 0 : a < b;
  });
  const auto same = [](const JsonNode* a, const JsonNode* b) { return a->key() == b->key(); };
  auto at = std::adjacent_find(members.begin(), members.end(), same);
  while (at != members.end() && refusal.takes_notes()) {
    const auto end = std::find_if(at, members.end(), [&](const JsonNode* one) { return !same(one, *at); });
    const JsonNode* const last = *std::prev(end);
    refusal.note(last->key_offset(), path.key(last->key()),
                 joined({"stands there ", decimal(static_cast<std::uint64_t>(end - at)),
                         " times, and this one counts"}));
    at = std::adjacent_find(end, members.end(), same);
  }
}

/// One text on its way to a config.
class ConfigReader {
 public:
  ConfigReader(const LinkedDialects& linked, Reading& reading) : linked_(linked), reading_(reading) {}

  bool read() {
    const std::string_view text = reading_.input.text;
    if (text.empty() && reads_as_cann(reading_.input.context.dialect)) return true;
    if (text.size() > kMaxConfigBytes)
      return reading_.refuse(ConfigFault::unreadable, 0, "",
                             joined({decimal(text.size()), " bytes long, and at most ",
                                     decimal(kMaxConfigBytes), " are allowed"}));
    if (linked_.plan != nullptr && linked_.plan->is_one(text)) return linked_.plan->read(reading_);
    const std::size_t too_deep = find_too_deep(text);
    JsonTree tree;
    const bool parsed = tree.parse(text, reading_);
    const ConfigDialect dialect = parsed ? dialect_of(tree.root()) : reading_.input.context.dialect;
    if (reads_as_cann(dialect) && too_deep != std::string_view::npos)
      return reading_.refuse(
          ConfigFault::too_deep, too_deep, "",
          "more than 10 objects or 10 arrays inside one another; brackets inside strings count too");
    return parsed && read_root(tree.root(), dialect);
  }

 private:
  static bool reads_as_cann(ConfigDialect dialect) {
    return dialect == ConfigDialect::by_key || dialect == ConfigDialect::acl;
  }

  /// The number of the first of `kDialectKeys` that is there.
  static std::size_t dialect_key(const JsonNode& root) {
    std::size_t dialect = 0;
    while (dialect < kDialectKeys.size() && root.member(kDialectKeys[dialect]) == nullptr) ++dialect;
    return dialect;
  }

  ConfigDialect dialect_of(const JsonNode& root) const {
    if (reading_.input.context.dialect != ConfigDialect::by_key) return reading_.input.context.dialect;
    const std::size_t dialect = dialect_key(root);
    if (dialect == kDialectKeys.size()) return ConfigDialect::by_key;
    const bool lite =
        dialect == 1 && reading_.input.context.mindspore == MindSporeMode::by_file && is_lite(root);
    return lite ? ConfigDialect::mindspore_lite : static_cast<ConfigDialect>(dialect + 1);
  }

  bool read_root(const JsonNode& root, ConfigDialect dialect) {
    if (root.type() != JsonType::object && reading_.takes_notes())
      reading_.note(root.offset(), "the whole text",
                    joined({to_string(root.type()), ", which switches nothing on: a config is an object"}));
    if (reading_.takes_notes()) note_repeated_keys(root, {}, reading_);
    if (dialect_key(root) < kDialectKeys.size() && !check_keys_beside(root, reading_)) return false;
    const JsonNode* options = root.member(kOptionsKey);
    const bool keeps_history = options != nullptr && options->type() == JsonType::object &&
                               options->member("history_steps") != nullptr;
    if (!read_dialect(root, dialect, keeps_history) ||
        (options != nullptr && !OptionsJson(*options, reading_).read(reading_.config)))
      return false;
    // In CANN's layout only torchair has a folder for the rank.
    if (dialect == ConfigDialect::mindspore && reading_.config.form.layout == Layout::cann)
      reading_.config.form.world_size = 0;
    return true;
  }

  bool read_dialect(const JsonNode& root, ConfigDialect dialect, bool keeps_history) {
    switch (dialect) {
      case ConfigDialect::mindspore:
        if (linked_.mindspore == nullptr) return refuse_unlinked(root, dialect);
        return linked_.mindspore(root, reading_);
      case ConfigDialect::torchair:
        if (linked_.torchair == nullptr) return refuse_unlinked(root, dialect);
        return linked_.torchair(root, reading_);
      case ConfigDialect::mindspore_lite:
        if (linked_.lite == nullptr) return refuse_unlinked(root, dialect);
        return linked_.lite(root, reading_);
      case ConfigDialect::by_key:
      case ConfigDialect::acl:
        break;
    }
    if (const JsonNode* dump = root.member(kDialectKeys[0])) {
      if (linked_.acl == nullptr) return refuse_unlinked(root, ConfigDialect::acl);
      if (!linked_.acl(*dump, keeps_history, reading_)) return false;
      for (const JsonNode* member = root.first(); member != nullptr; member = member->next()) {
        const std::string why = belongs_in(member->key(), {{"\"dump\"", kAclKeys}, kKeysOfList});
        if (!why.empty())
          reading_.note(member->key_offset(), member->key(), joined({"unknown, and ignored", why}));
      }
      return true;
    }
    note_misspelt_key(root, reading_);
    return true;
  }

  bool refuse_unlinked(const JsonNode& root, ConfigDialect dialect) {
    const std::size_t index = static_cast<std::size_t>(dialect) - 1;
    const JsonNode* const node = root.member(kDialectKeys[index]);
    return reading_.refuse(ConfigFault::not_in_list, node != nullptr ? node->key_offset() : root.offset(),
                           kDialectKeys[index], unlinked_text(dialect, linked_));
  }

  const LinkedDialects& linked_;
  Reading& reading_;
};

}  // namespace

inline namespace OPDUMP_NAMESPACE {

std::string unlinked_text(ConfigDialect dialect, const LinkedDialects& linked) {
  const std::size_t index = static_cast<std::size_t>(dialect) - 1;
  if (linked.only_acl)
    return "of a dialect that this program was built without: it reads CANN's acl.json only";
  return joined({"of ", kDialectFiles[index],
                 ", a dialect that opdump was built without: build it with -Ddialects and ",
                 kDialectOptions[index], " among them"});
}

Status parse_linked(const LinkedDialects& linked, const ConfigInput& input, ConfigOutcome& outcome) {
  return finish(input, outcome, [&](Reading& reading) { return ConfigReader(linked, reading).read(); });
}

}  // namespace OPDUMP_NAMESPACE
}  // namespace config

}  // namespace opdump
