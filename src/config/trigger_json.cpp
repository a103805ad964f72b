#include "src/config/trigger_json.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <string>

#include "src/config/option_reader.hpp"

namespace opdump::config {
inline namespace OPDUMP_NAMESPACE {
namespace {

constexpr std::array<std::string_view, 10> kTriggerKeys = {"model", "op",    "input", "output", "stat",
                                                           "call",  "below", "above", "for",    "cooldown_s"};
constexpr std::array<std::string_view, 2> kLimitKeys = {"bytes_per_boot", "firings_per_boot"};
constexpr std::uint64_t kMostTensor = 0xfffe;
constexpr std::uint64_t kMostInARow = 1'000'000;
constexpr std::uint64_t kMostSeconds = 366 * 24 * 3600;
constexpr std::uint64_t kMostPerBoot = 0x7fffffffffffffff;

/// All but the last, which has a key of its own.
constexpr std::span<const std::string_view> kStatWords =
    std::span(kTriggerWords).first(std::size(kTriggerWords) - 1);

/// The least and the largest value that there is.
struct ValueRange {
  double least;
  double most;
};

constexpr ValueRange range_of(TriggerCause cause) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (cause == TriggerCause::saturated) return {0, 1};
  const bool natural = cause == TriggerCause::nan || cause == TriggerCause::inf ||
                       cause == TriggerCause::latency_us || cause == TriggerCause::l2norm;
  return {natural ? 0 : -kInfinity, kInfinity};
}

}  // namespace

bool TriggerJson::read(DumpConfig& config) {
  const JsonNode* const list = options_.member("trigger");
  const JsonNode* const limits = options_.member("trigger_limits");
  const KeyPath at = kOpdump.key("trigger");
  if (limits != nullptr && list == nullptr)
    return refuse(ConfigFault::conflict, *limits, kOpdump.key("trigger_limits"),
                  "there is no \"trigger\" beside it");
  if (limits != nullptr && !read_limits(*limits, config.options)) return false;
  if (!check_type(list, JsonType::array, at)) return false;
  if (!has_elements(list))
    return empty(*list, at, ": leave the key out to write the history at failures alone");
  if (count(list) > kMostTriggers)
    return refuse(ConfigFault::invalid_value, *list, at,
                  "more than " + decimal(kMostTriggers) + " triggers: join some by patterns");
  if (!check_config(*list, config)) return false;
  const auto rules = memory().array<TriggerRule>(count(list));
  if (!rules.ok()) return no_memory(*list, at);
  TriggerRule* next = rules.value().data();
  if (!check_each(list, at, [&](const JsonNode& node, const KeyPath& node_at) {
        return read_rule(node, node_at, config, *next++);
      }))
    return false;
  config.options.triggers = rules.value();
  if (config.options.journal == JournalDetail::none)
    note(*options_.member("journal"), kOpdump.key("journal"), "with \"none\" nothing tells what has fired");
  return true;
}

bool TriggerJson::read_limits(const JsonNode& node, DumpOptions& options) {
  const KeyPath at = kOpdump.key("trigger_limits");
  if (!check_type(&node, JsonType::object, at)) return false;
  if (node.first() == nullptr) return empty(node, at, joined({"; allowed: ", listed(kLimitKeys)}));
  for (const JsonNode* member = node.first(); member != nullptr; member = member->next()) {
    const KeyPath key_at = at.key(member->key());
    if (position_of(member->key(), kLimitKeys) == kLimitKeys.size())
      return reading_.refuse(
          ConfigFault::not_in_list, member->key_offset(), key_at,
          joined({"unknown key; allowed: ", listed(kLimitKeys), did_you_mean(member->key(), kLimitKeys)}));
    if (node.member(member->key()) != member)
      return refuse(ConfigFault::conflict, *node.member(member->key()), key_at, "is there twice");
    const bool is_bytes = member->key() == kLimitKeys[0];
    std::uint64_t number = 0;
    if (!parse_number(*member, key_at, 1, is_bytes ? kMostPerBoot : 0xffffffff, number)) return false;
    if (is_bytes) options.trigger_bytes_per_boot = number;
    if (!is_bytes) options.trigger_firings_per_boot = static_cast<std::uint32_t>(number);
  }
  return true;
}

bool TriggerJson::check_config(const JsonNode& list, const DumpConfig& config) {
  std::string_view why;
  if (config.options.history_steps == 0) {
    why = "a trigger writes the steps that a history keeps: say how many with \"history_steps\"";
  } else if (config.watch) {
    why = "it does not go with the watcher, whose operators are captured otherwise";
  } else if (config.exception != ExceptionDump::none) {
    why =
        "it does not go with the dump of failures, which captures nothing before one: list operators instead";
  }
  return why.empty() || refuse(ConfigFault::conflict, list, kOpdump.key("trigger"), why);
}

bool TriggerJson::check_keys(const JsonNode& node, const KeyPath& at) {
  for (const JsonNode* member = node.first(); member != nullptr; member = member->next()) {
    const std::string_view key = member->key();
    if (position_of(key, kTriggerKeys) == kTriggerKeys.size())
      return reading_.refuse(
          ConfigFault::not_in_list, member->key_offset(), at.key(key),
          joined({"unknown key; allowed: ", listed(kTriggerKeys), did_you_mean(key, kTriggerKeys)}));
    if (node.member(key) != member)
      return refuse(ConfigFault::conflict, *node.member(key), at.key(key), "is there twice");
  }
  return true;
}

bool TriggerJson::read_rule(const JsonNode& node, const KeyPath& at, const DumpConfig& config,
                            TriggerRule& rule) {
  if (!check_type(&node, JsonType::object, at) || !check_keys(node, at)) return false;
  TriggerNumbers numbers;
  rule.steps = 1;
  if (!read_cause(node, at, rule, numbers) || !read_names(node, at, config, rule, numbers.cause) ||
      !read_tensor(node, at, numbers) || !read_bounds(node, at, rule, numbers) ||
      !read_counts(node, at, rule, numbers.cause))
    return false;
  rule.numbers = TriggerRule::pack(numbers);
  return true;
}

bool TriggerJson::read_cause(const JsonNode& node, const KeyPath& at, TriggerRule& rule,
                             TriggerNumbers& numbers) {
  const JsonNode* const stat = node.member("stat");
  const JsonNode* const call = node.member("call");
  if (stat == nullptr && call == nullptr)
    return refuse(ConfigFault::missing, node, at.key("stat"),
                  joined({"must be there: one of ", listed(kStatWords), "; or \"call\", and a name"}));
  if (stat != nullptr) {
    if (!check_type(stat, JsonType::string, at.key("stat")) ||
        !check_word(*stat, stat->text(), kStatWords, at.key("stat")))
      return false;
    numbers.cause = static_cast<TriggerCause>(position_of(stat->text(), kStatWords));
    return has_none(node, at, {"call"}, "is a trigger of its own: make two of them");
  }
  numbers.cause = TriggerCause::call;
  if (!check_type(call, JsonType::string, at.key("call"))) return false;
  if (call->text().empty()) return empty(*call, at.key("call"), ": the program calls it by this name");
  if (call->text().find_first_of(",\n\r") != std::string_view::npos)
    return refuse(ConfigFault::invalid_value, *call, at.key("call"),
                  "a name has no comma and no end of line");
  if (!copy(call->text(), rule.call)) return no_memory(*call, at.key("call"));
  return has_none(node, at, {"model", "op", "input", "output", "below", "above", "for"},
                  "a call of the program has none: leave it out");
}

bool TriggerJson::read_names(const JsonNode& node, const KeyPath& at, const DumpConfig& config,
                             TriggerRule& rule, TriggerCause cause) {
  const JsonNode* const model = node.member("model");
  const JsonNode* const op = node.member("op");
  if (looks_at_tensor(cause) && op == nullptr)
    return refuse(ConfigFault::missing, node, at.key("op"), "must be there: whose tensor is looked at");
  if (cause == TriggerCause::latency_us &&
      !has_none(node, at, {"op", "input", "output"},
                "does not go with \"latency_us\", which is of a whole step of a model"))
    return false;
  if (cause == TriggerCause::failure &&
      !has_none(node, at, {"input", "output"}, "does not go with \"failure\", which is of an operator"))
    return false;
  if (model == nullptr && op == nullptr) return true;
  const auto names = memory().array<NamePattern>(2);
  if (!names.ok()) return no_memory(node, at);
  rule.names = names.value();
  if (model != nullptr && !read_pattern(*model, at.key("model"), names.value()[0])) return false;
  if (op != nullptr && !read_pattern(*op, at.key("op"), names.value()[1])) return false;
  if (model == nullptr || knows_model(rule.model(), config)) return true;
  return refuse(ConfigFault::conflict, *model, at.key("model"),
                joined({in_quotes(model->text()),
                        " is no model that the config names, so that the trigger would never fire"}));
}

bool TriggerJson::read_tensor(const JsonNode& node, const KeyPath& at, TriggerNumbers& numbers) {
  const JsonNode* const input = node.member("input");
  const JsonNode* const output = node.member("output");
  if (input != nullptr && output != nullptr)
    return refuse(ConfigFault::conflict, *output, at.key("output"),
                  "a trigger looks at one tensor: make two triggers of it");
  const JsonNode* const tensor = input != nullptr ? input : output;
  if (tensor == nullptr) return true;
  std::uint64_t index = 0;
  if (!parse_number(*tensor, at.key(input != nullptr ? "input" : "output"), 0, kMostTensor, index))
    return false;
  numbers.is_input = input != nullptr;
  numbers.index = static_cast<std::uint16_t>(index);
  return true;
}

bool TriggerJson::read_bounds(const JsonNode& node, const KeyPath& at, TriggerRule& rule,
                              TriggerNumbers& numbers) {
  const TriggerCause cause = numbers.cause;
  const JsonNode* const below = node.member("below");
  const JsonNode* const above = node.member("above");
  const std::string word = in_quotes(kTriggerWords[static_cast<std::size_t>(cause)]);
  if (!has_limits(cause))
    return cause == TriggerCause::call ||
           has_none(node, at, {"below", "above"},
                    joined({"does not go with ", word, ", which has no value"}));
  numbers.has_below = below != nullptr;
  numbers.has_above = above != nullptr;
  if (below == nullptr && above == nullptr) {
    // Any one is too many; `above` is 0.
    numbers.has_above = cause == TriggerCause::nan || cause == TriggerCause::inf;
    return numbers.has_above ||
           refuse(ConfigFault::missing, node, at.key("below"),
                  joined({"\"below\" or \"above\" must be there: at which ", word, " the trigger fires"}));
  }
  const ValueRange range = range_of(cause);
  double lower = 0;
  double upper = 0;
  if (below != nullptr && !read_real(*below, at.key("below"), lower)) return false;
  if (above != nullptr && !read_real(*above, at.key("above"), upper)) return false;
  if (below != nullptr && (lower <= range.least || lower > range.most))
    return refuse(ConfigFault::invalid_value, *below, at.key("below"),
                  joined({lower <= range.least ? "never" : "always", " fires: no ", word, " is less than 0",
                          range.most == 1 ? " or more than 1" : ""}));
  if (above != nullptr && (upper < range.least || upper >= range.most))
    return refuse(ConfigFault::invalid_value, *above, at.key("above"),
                  joined({upper < range.least ? "always" : "never", " fires: no ", word, " is less than 0",
                          range.most == 1 ? " or more than 1" : ""}));
  if (below != nullptr && above != nullptr && lower >= upper)
    return refuse(ConfigFault::conflict, *above, at.key("above"),
                  lower == upper ? "is the same as \"below\": every other value would fire"
                                 : "is less than \"below\": every value would fire");
  rule.below = std::bit_cast<std::uint64_t>(lower);
  rule.above = std::bit_cast<std::uint64_t>(upper);
  return true;
}

bool TriggerJson::read_real(const JsonNode& node, const KeyPath& at, double& number) {
  if (!check_type(&node, JsonType::number, at)) return false;
  const std::string_view text = number_text(node);
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error == std::errc{} && end == text.data() + text.size() && std::isfinite(number)) return true;
  return refuse(ConfigFault::invalid_value, node, at, joined({in_quotes(text), " is no number of a double"}));
}

bool TriggerJson::read_counts(const JsonNode& node, const KeyPath& at, TriggerRule& rule,
                              TriggerCause cause) {
  std::uint64_t steps = 1;
  std::uint64_t seconds = 0;
  if (cause == TriggerCause::failure &&
      !has_none(node, at, {"for"}, "does not go with \"failure\": one is enough"))
    return false;
  const JsonNode* const in_a_row = node.member("for");
  const JsonNode* const cooldown = node.member("cooldown_s");
  if (in_a_row != nullptr && !parse_number(*in_a_row, at.key("for"), 1, kMostInARow, steps)) return false;
  if (cooldown != nullptr && !parse_number(*cooldown, at.key("cooldown_s"), 0, kMostSeconds, seconds))
    return false;
  rule.steps = static_cast<std::uint32_t>(steps);
  rule.cooldown_s = static_cast<std::uint32_t>(seconds);
  return true;
}

bool TriggerJson::has_none(const JsonNode& node, const KeyPath& at,
                           std::initializer_list<std::string_view> keys, std::string_view why) {
  for (const std::string_view key : keys) {
    if (const JsonNode* const found = node.member(key))
      return refuse(ConfigFault::conflict, *found, at.key(key), why);
  }
  return true;
}

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::config

namespace opdump {
inline namespace OPDUMP_NAMESPACE {

const OptionReader* trigger_reader() {
  static constexpr OptionReader kReader = {[](const config::JsonNode& options, config::Reading& reading) {
    return config::TriggerJson(options, reading).read(reading.config);
  }};
  return &kReader;
}

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump
