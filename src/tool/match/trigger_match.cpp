#include "src/tool/match/trigger_match.hpp"

#include <algorithm>
#include <string_view>

#include "opdump/impl/plan/triggers.hpp"
#include "src/config/refusal.hpp"
#include "src/tool/cli/human_text.hpp"
#include "src/tool/config/trigger_text.hpp"

namespace opdump::tool {
namespace {

constexpr std::size_t kMostClosest = 10;

/// Bytes of the tensor that `rule` looks at; 0: the model does not tell.
std::uint64_t look_bytes(const TriggerRule& rule, const ModelDesc& model, std::size_t op) {
  if (model.tensors.size() != model.ops.size()) return 0;
  const auto& tensors = model.tensors[op];
  const std::span<const TensorView> role = rule.is_input() ? tensors.inputs : tensors.outputs;
  return rule.index() < role.size() ? role[rule.index()].bytes : 0;
}

std::string closest_op(const TriggerRule& rule, const ModelDesc& model) {
  std::vector<std::string_view> names;
  for (const OpDesc& op : model.ops) names.push_back(op.name);
  return std::string(config::closest(rule.op()[0].text, names));
}

}  // namespace

void match_triggers(const DumpConfig& config, const ModelDesc& model, ModelMatch& match,
                    std::vector<Miss>& misses) {
  const std::span<const TriggerRule> rules = triggers_of(config.options);
  for (std::size_t i = 0; i < rules.size(); ++i) {
    const TriggerRule& rule = rules[i];
    if (!holds_for(rule, model) || rule.op().empty()) continue;
    bool any = false;
    for (std::size_t op = 0; op < model.ops.size(); ++op) {
      if (!names_op(rule, model.ops[op]) || !has_tensor(rule, model, op)) continue;
      any = true;
      if (!looks_at_tensor(rule.cause())) continue;
      const std::uint64_t bytes = look_bytes(rule, model, op);
      ++match.looks;
      match.look_bytes += bytes;
      match.look_lines.push_back("trigger " + std::to_string(i) + " at " +
                                 config::in_quotes(model.ops[op].name) +
                                 (bytes != 0 ? ", " + byte_text(bytes) + " a step" : ""));
    }
    if (!any)
      misses.push_back({"trigger " + std::to_string(i) + " (" + trigger_text(rule) + ") in model " +
                            config::in_quotes(model.name),
                        misses.size() < kMostClosest ? closest_op(rule, model) : std::string()});
  }
}

std::vector<std::string> trigger_lines(const DumpConfig& config, std::span<const ModelMatch> models,
                                       std::uint64_t bytes_per_step) {
  std::vector<std::string> lines;
  const DumpOptions& options = config.options;
  if (triggers_of(options).empty()) return lines;
  std::uint64_t looks = 0;
  std::uint64_t bytes = 0;
  for (const ModelMatch& model : models) {
    for (const std::string& line : model.look_lines) lines.push_back("look    " + line);
    looks += model.looks;
    bytes += model.look_bytes;
  }
  lines.push_back("look    a step of all models has " + count_text(looks, "look") + " at " +
                  byte_text(bytes) + ": on a Cortex-M3 about " +
                  std::to_string(looks * kLookInstructions + bytes * kLookInstructionsPerByte) +
                  " instructions for extremes and counts of float32, five times that for sums");
  const std::uint64_t memory = options.history_bytes == 0 ? kDefaultHistoryBytes : options.history_bytes;
  const std::uint64_t before = std::min<std::uint64_t>(bytes_per_step * options.history_steps, memory);
  const std::uint64_t firing = before + bytes_per_step * options.after_steps;
  lines.push_back("fire    a firing writes " + byte_text(firing) + " at most: " + byte_text(before) + " of " +
                  count_text(options.history_steps, "step") + " before, and " +
                  count_text(options.after_steps, "step") + " after");
  const TriggerLimits limits = trigger_limits(options);
  std::uint64_t day = limits.firings_per_day == 0 ? UINT64_MAX : firing * limits.firings_per_day;
  if (limits.bytes_per_day != 0) day = std::min(day, limits.bytes_per_day);
  lines.push_back(day == UINT64_MAX
                      ? std::string("fire    a day has no limit: set \"trigger_limits\"")
                      : "fire    a day writes " + byte_text(day) + " at most, for " +
                            (limits.firings_per_day != 0 ? std::to_string(limits.firings_per_day)
                                                         : std::to_string(firing == 0 ? 0 : day / firing)) +
                            " firings or fewer, without what the medium adds");
  return lines;
}

}  // namespace opdump::tool
