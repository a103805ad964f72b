#include "opdump/parse_config.hpp"

#include <algorithm>
#include <array>

#include "abilities.hpp"
#include "acl_json.hpp"
#include "json_tree.hpp"
#include "options_json.hpp"
#include "refusal.hpp"

namespace opdump {
namespace config {
namespace {

constexpr std::size_t kMaxNesting = 10;

struct Dialect {
  std::string_view key;
  std::string_view name;
};
constexpr std::array<Dialect, 2> kLaterDialects = {{
    {"common_dump_settings", "MindSpore's data_dump.json"},
    {"dump_config", "torchair's dump_config"},
}};

/// As CANN counts: on the raw bytes, those inside strings too, up to a NUL byte.
bool check_nesting(std::string_view text, Refusal& refusal) {
  std::size_t objects = 0;
  std::size_t arrays = 0;
  for (std::size_t i = 0; i < text.size() && text[i] != '\0'; ++i) {
    const char c = text[i];
    if (c == '{') ++objects;
    if (c == '[') ++arrays;
    if (c == '}' && objects > 0) --objects;
    if (c == ']' && arrays > 0) --arrays;
    if (std::max(objects, arrays) > kMaxNesting)
      return refusal.refuse(
          ConfigFault::too_deep, i, {},
          "more than 10 objects or 10 arrays inside one another; brackets inside strings count too");
  }
  return true;
}

/// CANN takes a file without "dump" for one that asks for nothing.
void note_misspelt_dump(const JsonNode& root, Refusal& refusal) {
  constexpr std::array<std::string_view, 1> kKey = {"dump"};
  for (const JsonNode* member = root.first(); member != nullptr && refusal.takes_notes();
       member = member->next()) {
    if (!closest(member->key(), kKey).empty())
      refusal.note(member->key_offset(), std::string(member->key()),
                   "unknown, and ignored; is it a slip of the keys for \"dump\"?");
  }
}

/// Switches off what this build cannot write; `owner` is what decided, `options` may have.
void check_abilities(const JsonNode& owner, const JsonNode* options, DumpConfig& config, Refusal& refusal) {
  if (!config.asked) return;
  const auto check = [&](bool can, std::string_view key, std::string what) {
    if (can) return;
    config.active = false;
    const JsonNode* node = options == nullptr ? nullptr : options->member(key);
    const JsonNode& at = node == nullptr ? owner : *node;
    const KeyPath path{nullptr, node == nullptr ? owner.key() : std::string_view("opdump"),
                       KeyPath::kNoIndex};
    refusal.note_unsupported(at.offset(), node == nullptr ? path.text() : path.key(key).text(),
                             what + " is not acted on by this build, and nothing is dumped instead");
  };
  check(can_write(config.layout), "layout",
        "the layout " + quoted(kLayoutWords[static_cast<std::size_t>(config.layout)]));
}

bool read(std::string_view text, Arena& memory, DumpPathCheck check_path, DumpConfig& config,
          Refusal& refusal) {
  if (text.empty()) return true;
  if (text.size() > kMaxConfigBytes)
    return refusal.refuse(ConfigFault::unreadable, 0, {},
                          std::to_string(text.size()) + " bytes long, and at most " +
                              std::to_string(kMaxConfigBytes) + " are allowed");
  if (!check_nesting(text, refusal)) return false;
  JsonTree tree;
  if (!tree.parse(text, refusal)) return false;
  const JsonNode& root = tree.root();
  if (root.type() != JsonType::object)
    return refusal.refuse(
        ConfigFault::unknown_dialect, root.offset(), {},
        std::string(to_string(root.type())) + ", but a config is an object with the key \"dump\"");
  const JsonNode* options = root.member("opdump");
  const auto read_options = [&] {
    return options == nullptr || OptionsJson(*options, memory, refusal).read(config);
  };
  if (const JsonNode* dump = root.member("dump")) {
    if (!read_acl_json(*dump, memory, check_path, config, refusal) || !read_options()) return false;
    check_abilities(*dump, options, config, refusal);
    return true;
  }
  for (const Dialect& dialect : kLaterDialects) {
    if (const JsonNode* node = root.member(dialect.key))
      return refusal.refuse(ConfigFault::not_supported, node->key_offset(), std::string(dialect.key),
                            "this is " + std::string(dialect.name) +
                                ", which is not supported yet: write CANN's acl.json, with the key \"dump\"");
  }
  note_misspelt_dump(root, refusal);
  return read_options();
}

}  // namespace
}  // namespace config

inline namespace OPDUMP_NAMESPACE {

Status parse_config(std::string_view text, Arena& memory, DumpPathCheck check_path, DumpConfig& config,
                    ConfigError& error, std::vector<ConfigNote>* notes) {
  config = {};
  error = {};
  if (notes != nullptr) notes->clear();
  config::Refusal refusal(text, error, notes);
  DumpConfig read;
  if (!config::read(text, memory, check_path, read, refusal)) {
    if (notes != nullptr) notes->clear();
    return Status::config_refused;
  }
  if (refusal.met_unsupported()) return Status::config_refused;
  error = {};
  config = read;
  return Status::ok;
}

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump
