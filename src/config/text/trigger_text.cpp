#include "src/config/text/trigger_text.hpp"

#include "opdump/base/number_text.hpp"
#include "src/config/refusal.hpp"
#include "src/config/text/human_text.hpp"

namespace opdump::tool {
namespace {

std::string real_text(double value) {
  char memory[kMaxNumberText];
  TextWriter text(memory);
  return std::string(add_number(text, value).text());
}

std::string what_text(const TriggerRule& rule) {
  const std::string tensor =
      " of " + std::string(rule.is_input() ? "input " : "output ") + std::to_string(rule.index());
  switch (rule.cause()) {
    case TriggerCause::nan:
      return "the NaNs" + tensor;
    case TriggerCause::inf:
      return "the infinities" + tensor;
    case TriggerCause::saturated:
      return "the share of saturated elements" + tensor;
    case TriggerCause::change:
      return "a change" + tensor;
    case TriggerCause::latency_us:
      return "the microseconds of a step";
    case TriggerCause::failure:
      return "a failure";
    case TriggerCause::call:
      return "the program's call " + config::in_quotes(rule.call);
    default:
      return std::string(kTriggerWords[static_cast<std::size_t>(rule.cause())]) + tensor;
  }
}

/// At most so many: ranges may overlap.
std::uint64_t count_of(const StepSet& steps) {
  std::uint64_t count = 0;
  for (const StepRange& range : steps.ranges) {
    if (range.last < range.first) continue;
    const std::uint64_t more = range.last - range.first;
    count = more >= UINT64_MAX - 1 - count ? UINT64_MAX - 1 : count + more + 1;
  }
  return count;
}

}  // namespace

std::string trigger_text(const TriggerRule& rule) {
  std::string text = what_text(rule);
  if (!rule.op().empty()) text += " of op " + config::in_quotes(rule.op()[0].text);
  if (!rule.model().empty()) text += " of model " + config::in_quotes(rule.model()[0].text);
  if (rule.has_below()) text += " below " + real_text(rule.lower());
  if (rule.has_below() && rule.has_above()) text += " or";
  if (rule.has_above()) text += " above " + real_text(rule.upper());
  if (rule.steps > 1) text += ", in " + count_text(rule.steps, "step") + " in a row of those it looks at";
  if (rule.cooldown_s != 0) text += ", then not for " + std::to_string(rule.cooldown_s) + " s";
  return text;
}

std::vector<std::string> trigger_step_lines(const DumpConfig& config) {
  std::vector<std::string> lines;
  const std::span<const TriggerRule> rules = triggers_of(config.options);
  if (rules.empty() || config.steps.every_step()) return lines;
  lines.push_back("the steps that are not dumped are not looked at: they fire nothing, and end no row");
  const std::uint64_t wanted = count_of(config.steps);
  for (std::size_t i = 0; i < rules.size(); ++i) {
    const std::uint64_t needed = rules[i].cause() == TriggerCause::call ? 0
                                 : rules[i].cause() == TriggerCause::change
                                     ? rules[i].steps + std::uint64_t{1}
                                     : rules[i].steps;
    if (needed > wanted)
      lines.push_back("trigger " + std::to_string(i) + " never fires: it looks at " +
                      count_text(wanted, "step") + " and needs " + std::to_string(needed));
  }
  return lines;
}

std::string trigger_limits_text(const TriggerLimits& limits) {
  std::string text;
  if (limits.firings_per_boot != 0) text = count_text(limits.firings_per_boot, "firing");
  if (limits.bytes_per_boot != 0) text += (text.empty() ? "" : " and ") + byte_text(limits.bytes_per_boot);
  return text.empty() ? text : text + " a boot at most";
}

}  // namespace opdump::tool
