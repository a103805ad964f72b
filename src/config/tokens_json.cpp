#include "src/config/tokens_json.hpp"

#include <algorithm>
#include <array>
#include <string>

#include "src/config/cann/dump_step.hpp"
#include "src/config/option_reader.hpp"

namespace opdump::config {
inline namespace OPDUMP_NAMESPACE {
namespace {

constexpr std::array<std::string_view, 7> kKeys = {"phase", "positions",          "every", "rows", "heads",
                                                   "kv",    "max_bytes_per_token"};
constexpr std::array<std::string_view, 2> kCells = {"all", "new"};
constexpr std::uint64_t kMostEvery = 1'000'000;
constexpr std::uint64_t kMostHead = 65535;
constexpr std::size_t kMostHeads = 100;
constexpr std::uint64_t kMostBytes = 0x7fffffffffffffff;

}  // namespace

/// Tokens are of steps that run as they should, and of tensors of which the rules take slices.
bool TokensJson::read(const JsonNode& node, const KeyPath& at, DumpConfig& config) {
  std::string_view why;
  if (build::kLean) {
    why = "a build with OPDUMP_SMALL_CODE has no tokens: leave it out";
  } else if (config.overflow || config.watch || config.exception != ExceptionDump::none) {
    why = "it does not go with the dump of overflows, failures or overwritten memory, which is of every step";
  } else if (config.options.history_steps != 0) {
    why = "it does not go with history_steps: tokens are few enough to be written at once";
  } else if (config.single_ops) {
    why = "it does not go with dump_op_switch: operators outside a model have no token";
  }
  if (!why.empty()) return refuse(ConfigFault::conflict, node, at, why);
  const TokenRules* const rules = read_rules(node, at);
  if (rules != nullptr) config.options.tokens = rules;
  return rules != nullptr;
}

const TokenRules* TokensJson::read_rules(const JsonNode& node, const KeyPath& at) {
  const Result<std::span<TokenRules>> memory = memory_.array<TokenRules>(1);
  if (!memory.ok()) {
    no_memory(node, at);
    return nullptr;
  }
  TokenRules& rules = memory.value()[0];
  if (node.type() == JsonType::object) return read_rule(node, at, rules) ? &rules : nullptr;
  if (node.type() != JsonType::array || node.first() == nullptr) {
    refuse(ConfigFault::wrong_type, node, at,
           "must be an object, or a list of one for \"prefill\" and one for \"decode\"");
    return nullptr;
  }
  const bool good = check_array_of(node.type() == JsonType::array ? &node : nullptr, JsonType::object, at,
                                   [&](const JsonNode& element, const KeyPath& element_at) {
                                     return read_rule(element, element_at, rules);
                                   });
  return good ? &rules : nullptr;
}

bool TokensJson::read_rule(const JsonNode& node, const KeyPath& at, TokenRules& rules) {
  for (const JsonNode* member = node.first(); member != nullptr; member = member->next()) {
    if (position_of(member->key(), kKeys) != kKeys.size()) continue;
    return refusal_.refuse(
        ConfigFault::not_in_list, member->key_offset(), at.key(member->key()),
        joined({"unknown key; allowed: ", listed(kKeys), did_you_mean(member->key(), kKeys)}));
  }
  bool asked[kTokenPhases] = {};
  TokenRule rule = {.asked = true};
  std::uint64_t every = 1;
  std::size_t cells = 0;
  if (!read_phases(node, at, rules, asked) || !read_ranges(node, at, "positions", rule.positions) ||
      !read_number(node, at, "every", kMostEvery, every) || !read_rows(node, at, rule) ||
      !read_heads(node, at, rule.heads) || !read_word(node, at, "kv", kCells, cells) ||
      !read_number(node, at, "max_bytes_per_token", kMostBytes, rule.max_bytes_per_token))
    return false;
  rule.every = static_cast<std::uint32_t>(every);
  rule.new_cells = cells != 0;
  for (std::size_t i = 0; i < kTokenPhases; ++i) {
    if (asked[i]) rules.phases[i] = rule;
  }
  return true;
}

bool TokensJson::read_phases(const JsonNode& node, const KeyPath& at, const TokenRules& rules,
                             bool (&asked)[kTokenPhases]) {
  std::size_t phase = kTokenPhases;
  if (!read_word(node, at, "phase", kTokenPhaseWords, phase)) return false;
  for (std::size_t i = 0; i < kTokenPhases; ++i) {
    asked[i] = phase == i || phase == kTokenPhases;
    if (!asked[i] || !rules.phases[i].asked) continue;
    const JsonNode* const key = node.member("phase");
    return refuse(ConfigFault::conflict, key != nullptr ? *key : node, key != nullptr ? at.key("phase") : at,
                  joined({in_quotes(kTokenPhaseWords[i]),
                          " is in the list twice: give each object a \"phase\" of its own"}));
  }
  return true;
}

bool TokensJson::read_word(const JsonNode& node, const KeyPath& at, std::string_view key,
                           std::span<const std::string_view> words, std::size_t& position) {
  const JsonNode* const found = node.member(key);
  if (found == nullptr) return true;
  const KeyPath there = at.key(key);
  if (!check_type(found, JsonType::string, there) || !check_word(*found, found->text(), words, there))
    return false;
  position = position_of(found->text(), words);
  return true;
}

bool TokensJson::read_number(const JsonNode& node, const KeyPath& at, std::string_view key,
                             std::uint64_t most, std::uint64_t& number) {
  const JsonNode* const found = node.member(key);
  return found == nullptr || parse_number(*found, at.key(key), 1, most, number);
}

bool TokensJson::read_ranges(const JsonNode& node, const KeyPath& at, std::string_view key, StepSet& ranges) {
  const JsonNode* const found = node.member(key);
  if (found == nullptr) return true;
  const KeyPath there = at.key(key);
  if (!check_type(found, JsonType::string, there)) return false;
  if (found->text().empty()) return empty(*found, there, ": write numbers as \"0-63\", or leave the key out");
  std::string reason;
  const Result<StepSet> read = parse_steps(found->text(), memory_, reason);
  if (read.status() == Status::no_memory) return no_memory(*found, there);
  if (!read.ok()) return refuse(ConfigFault::invalid_value, *found, there, reason);
  ranges = read.value();
  return true;
}

bool TokensJson::read_rows(const JsonNode& node, const KeyPath& at, TokenRule& rule) {
  const JsonNode* const found = node.member("rows");
  if (found != nullptr && found->type() == JsonType::string) {
    rule.last_row = found->text() == "last";
    if (rule.last_row || found->text() == "all") return true;
  }
  return read_ranges(node, at, "rows", rule.rows);
}

bool TokensJson::read_heads(const JsonNode& node, const KeyPath& at, StepSet& heads) {
  const JsonNode* const found = node.member("heads");
  if (found == nullptr) return true;
  const KeyPath there = at.key("heads");
  if (!check_type(found, JsonType::array, there)) return false;
  const std::size_t size = count(found);
  if (size == 0) return empty(*found, there, ": name heads as [0, 2], or leave the key out for all");
  if (size > kMostHeads)
    return refuse(ConfigFault::invalid_value, *found, there,
                  joined({decimal(size), " entries, and at most ", decimal(kMostHeads), " are allowed"}));
  const Result<std::span<StepRange>> ranges = memory_.array<StepRange>(size);
  if (!ranges.ok()) return no_memory(*found, there);
  StepRange* to = ranges.value().data();
  const bool good = check_each(found, there, [&](const JsonNode& element, const KeyPath& element_at) {
    std::uint64_t head = 0;
    if (!parse_number(element, element_at, 0, kMostHead, head)) return false;
    *to++ = {head, head};
    return true;
  });
  heads.ranges = ranges.value();
  return good;
}

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::config

namespace opdump {
inline namespace OPDUMP_NAMESPACE {

const OptionReader* tokens_reader() {
  static constexpr OptionReader kReader = {[](const config::JsonNode& options, const ConfigContext&,
                                              Arena& memory, config::Refusal& refusal, DumpConfig& config) {
    return config::TokensJson(memory, refusal)
        .read(*options.member("tokens"), config::kOpdump.key("tokens"), config);
  }};
  return &kReader;
}

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump
