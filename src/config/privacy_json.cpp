#include "src/config/privacy_json.hpp"

#include <algorithm>
#include <array>
#include <string>

#include "opdump/format/statistic_table.hpp"
#include "opdump/impl/plan/privacy.hpp"
#include "src/config/option_reader.hpp"

namespace opdump::config {
inline namespace OPDUMP_NAMESPACE {
namespace {

constexpr std::array<std::string_view, 9> kRuleKeys = {"model", "op",   "type",  "input",   "output",
                                                       "keep",  "crop", "every", "elements"};
constexpr std::array<std::string_view, 2> kUnmatched = {"refuse", "tell"};
constexpr std::size_t kMaxRules = 1000;
constexpr std::uint64_t kMaxIndex = 0xfffe;
constexpr std::uint64_t kMaxExtent = 0x7fffffffffffffff;

/// Whether `rule` names every tensor.
bool names_all(const PrivacyRule& rule) {
  return rule.model().empty() && rule.op().empty() && rule.type().empty() && rule.role() == TensorRole::any;
}

}  // namespace

bool PrivacyJson::read(DumpConfig& config) {
  const JsonNode* const list = options_.member("privacy");
  const JsonNode* const unmatched = options_.member("privacy_unmatched");
  const KeyPath unmatched_at = kOpdump.key("privacy_unmatched");
  if (unmatched != nullptr) {
    if (list == nullptr)
      return refuse(ConfigFault::conflict, *unmatched, unmatched_at, "there is no \"privacy\" beside it");
    if (!check_type(unmatched, JsonType::string, unmatched_at) ||
        !check_word(*unmatched, unmatched->text(), kUnmatched, unmatched_at))
      return false;
    config.privacy_tells = unmatched->text() == kUnmatched[1];
  }
  if (list == nullptr) return true;
  const KeyPath at = kOpdump.key("privacy");
  if (!check_type(list, JsonType::array, at)) return false;
  if (!has_elements(list)) return empty(*list, at, ": leave the key out to keep every tensor");
  if (count(list) > kMaxRules)
    return refuse(ConfigFault::invalid_value, *list, at,
                  "more than " + std::to_string(kMaxRules) + " rules: join some by patterns");
  const auto rules = memory().array<PrivacyRule>(count(list));
  if (!rules.ok()) return no_memory(*list, at);
  config.privacy = rules.value();
  PrivacyRule* next = rules.value().data();
  return check_each(list, at, [&](const JsonNode& node, const KeyPath& node_at) {
    if (next != rules.value().data() && names_all(next[-1]))
      return refuse(
          ConfigFault::conflict, node, node_at,
          "never counts: the rule before it names every tensor, and the first that names one decides");
    return read_rule(node, node_at, config, *next++);
  });
}

bool PrivacyJson::read_rule(const JsonNode& node, const KeyPath& at, const DumpConfig& config,
                            PrivacyRule& rule) {
  if (!check_type(&node, JsonType::object, at)) return false;
  const auto names = memory().array<NamePattern>(3);
  if (!names.ok()) return no_memory(node, at);
  rule.names = names.value();
  PrivacyNumbers numbers;
  for (const JsonNode* member = node.first(); member != nullptr; member = member->next()) {
    const std::string_view key = member->key();
    const KeyPath key_at = at.key(key);
    if (std::find(kRuleKeys.begin(), kRuleKeys.end(), key) == kRuleKeys.end())
      return reading_.refuse(
          ConfigFault::not_in_list, member->key_offset(), key_at,
          joined({"unknown key; allowed: ", listed(kRuleKeys), did_you_mean(key, kRuleKeys)}));
    if (node.member(key) != member)
      return refuse(ConfigFault::conflict, *node.member(key), key_at, "is there twice");
    bool good = true;
    if (key == "model") good = read_pattern(*member, key_at, names.value()[0]);
    if (key == "op") good = read_pattern(*member, key_at, names.value()[1]);
    if (key == "type") good = read_pattern(*member, key_at, names.value()[2]);
    if (key == "input") good = read_position(*member, key_at, TensorRole::input, numbers);
    if (key == "output") good = read_position(*member, key_at, TensorRole::output, numbers);
    if (key == "crop") good = read_crop(*member, key_at, rule);
    if (key == "every") good = read_count(*member, key_at, 2, numbers.every);
    if (key == "elements") good = read_count(*member, key_at, 1, numbers.elements);
    if (!good) return false;
  }
  const JsonNode* const keep = node.member("keep");
  const KeyPath keep_at = at.key("keep");
  if (keep == nullptr)
    return refuse(ConfigFault::missing, node, keep_at,
                  joined({"must be there: one of ", listed(kKeptWords)}));
  if (!check_type(keep, JsonType::string, keep_at) || !check_word(*keep, keep->text(), kKeptWords, keep_at))
    return false;
  if (numbers.every != 0 && numbers.elements != 0)
    return refuse(ConfigFault::conflict, *node.member("elements"), at.key("elements"),
                  "\"every\" already says how many elements are kept: take one of them");
  numbers.kept = static_cast<KeptAs>(std::find(std::begin(kKeptWords), std::end(kKeptWords), keep->text()) -
                                     std::begin(kKeptWords));
  rule.numbers = PrivacyRule::pack(numbers);
  return settle(node, at, config, rule);
}

bool PrivacyJson::settle(const JsonNode& node, const KeyPath& at, const DumpConfig& config,
                         const PrivacyRule& rule) {
  if (cuts(rule) && rule.kept() >= KeptAs::shape)
    return refuse(
        ConfigFault::conflict, *node.member("keep"), at.key("keep"),
        "of a tensor of which no element counts there is none to choose: leave \"crop\", \"every\" and "
        "\"elements\" out");
  const bool told = rule.kept() > KeptAs::tensor && rule.kept() < KeptAs::nothing;
  if (told && config.form.layout != Layout::cann)
    return refuse(
        ConfigFault::conflict, *node.member("keep"), at.key("keep"),
        "only \"layout\": \"cann\" has a place for it: take \"nothing\", or \"tensor\" with a crop");
  if (rule.kept() == KeptAs::stats && digest_bytes(config.form) != 0)
    return refuse(
        ConfigFault::conflict, *node.member("keep"), at.key("keep"),
        "does not go with \"digest\", which would be kept of the tensor instead: take \"digest\" if that may "
        "leave the device, else \"shape\" or \"nothing\"");
  if (!rule.model().empty() && !knows_model(rule.model(), config))
    return refuse(ConfigFault::conflict, *node.member("model"), at.key("model"),
                  joined({in_quotes(rule.model()[0].text),
                          " is no model that the config names, so that the rule would never count"}));
  return true;
}

bool PrivacyJson::read_position(const JsonNode& node, const KeyPath& at, TensorRole role,
                                PrivacyNumbers& numbers) {
  if (numbers.role != TensorRole::any)
    return refuse(ConfigFault::conflict, node, at,
                  "a rule is for inputs or for outputs: make two rules of it");
  numbers.role = role;
  if (node.type() == JsonType::string && node.text() == "all") return true;
  if (node.type() == JsonType::string)
    return refuse(ConfigFault::invalid_value, node, at,
                  in_quotes(node.text()) + " is neither a number nor \"all\"");
  std::uint64_t index = 0;
  if (!parse_number(node, at, 0, kMaxIndex, index)) return false;
  numbers.index = static_cast<std::uint32_t>(index);
  return true;
}

bool PrivacyJson::read_crop(const JsonNode& node, const KeyPath& at, PrivacyRule& rule) {
  if (!check_type(&node, JsonType::array, at)) return false;
  if (!has_elements(&node)) return empty(node, at, ": leave the key out to keep every element");
  if (count(&node) > kMaxRank)
    return refuse(ConfigFault::invalid_value, node, at,
                  "no tensor has more than " + std::to_string(kMaxRank) + " axes");
  const auto ranges = memory().array<StepRange>(count(&node));
  if (!ranges.ok()) return no_memory(node, at);
  rule.crop = ranges.value();
  StepRange* next = ranges.value().data();
  return check_each(&node, at, [&](const JsonNode& axis, const KeyPath& axis_at) {
    return read_range(axis, axis_at, *next++);
  });
}

/// The first N of an axis, or from one up to before another.
bool PrivacyJson::read_range(const JsonNode& node, const KeyPath& at, StepRange& range) {
  std::uint64_t first = 0;
  std::uint64_t end = 0;
  if (node.type() != JsonType::array) {
    if (!parse_number(node, at, 1, kMaxExtent, end)) return false;
  } else if (count(&node) != 2) {
    return refuse(ConfigFault::invalid_value, node, at,
                  "a range has two numbers: the first element and the one behind the last");
  } else if (!parse_number(*node.first(), at.element(0), 0, kMaxExtent, first) ||
             !parse_number(*node.first()->next(), at.element(1), first + 1, kMaxExtent, end)) {
    return false;
  }
  range = {first, end - 1};
  return true;
}

bool PrivacyJson::read_count(const JsonNode& node, const KeyPath& at, std::uint64_t least,
                             std::uint32_t& to) {
  std::uint64_t number = 0;
  if (!parse_number(node, at, least, 0xffffffff, number)) return false;
  to = static_cast<std::uint32_t>(number);
  return true;
}

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::config

namespace opdump {
inline namespace OPDUMP_NAMESPACE {

const OptionReader* privacy_reader() {
  static constexpr OptionReader kReader = {[](const config::JsonNode& options, config::Reading& reading) {
    return config::PrivacyJson(options, reading).read(reading.config);
  }};
  return &kReader;
}

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump
