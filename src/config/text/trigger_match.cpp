#include "src/config/text/trigger_match.hpp"

#include <algorithm>
#include <initializer_list>
#include <string_view>

#include "opdump/impl/plan/triggers.hpp"
#include "opdump/impl/stats/tensor_look.hpp"
#include "src/config/refusal.hpp"
#include "src/config/text/human_text.hpp"
#include "src/config/text/trigger_text.hpp"

namespace opdump::tool {
namespace {

constexpr std::size_t kMostClosest = 10;

/// The tensor that `rule` looks at; null: the model does not tell.
const TensorView* looked_at(const TriggerRule& rule, const ModelDesc& model, std::size_t op) {
  if (model.tensors.size() != model.ops.size()) return nullptr;
  const auto& tensors = model.tensors[op];
  const std::span<const TensorView> role = rule.is_input() ? tensors.inputs : tensors.outputs;
  return rule.index() < role.size() ? &role[rule.index()] : nullptr;
}

/// Why `cause` never fires at tensors of that dtype; empty: it may.
std::string_view never_fires(TriggerCause cause, DType dtype) {
  const bool counts_faults = cause == TriggerCause::nan || cause == TriggerCause::inf;
  const auto is_one_of = [dtype](std::initializer_list<DType> some) {
    return std::find(some.begin(), some.end(), dtype) != some.end();
  };
  if (cause == TriggerCause::change) return {};
  if (cause == TriggerCause::saturated)
    return ExtremesLook::supports(dtype) ? "" : "whose saturated elements are not known";
  if (!Statistics::supports(dtype)) return "of which there are no statistics";
  const bool whole = (ExtremesLook::supports(dtype) && element_form(dtype).is_integer()) ||
                     is_one_of({DType::int64, DType::uint32, DType::uint64, DType::boolean});
  return counts_faults && whole ? "which has neither NaN nor infinity" : "";
}

/// The kind of LookCosts.
std::size_t kind_of(TriggerCause cause) {
  if (cause == TriggerCause::change) return 2;
  return cause == TriggerCause::mean || cause == TriggerCause::l2norm ? 1 : 0;
}

std::string look_cost_text(const LookCosts& costs) {
  LookCost all;
  std::uint64_t instructions = 0;
  std::string kinds;
  for (std::size_t kind = 0; kind < costs.size(); ++kind) {
    if (costs[kind].looks == 0) continue;
    const LookInstructions& of = kLookInstructions[kind];
    const std::uint64_t taken = costs[kind].looks * of.each + costs[kind].bytes * of.per_byte;
    all.looks += costs[kind].looks;
    all.bytes += costs[kind].bytes;
    instructions += taken;
    kinds += (kinds.empty() ? "" : ", ") + std::to_string(taken) + " for " + std::string(of.what);
  }
  return "a step of all models has " + count_text(all.looks, "look") + " at " + byte_text(all.bytes) +
         ": on a Cortex-M3 about " + std::to_string(instructions) + " instructions, were all of float32" +
         (kinds.empty() ? "" : ": " + kinds);
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
    if (!holds_for(rule, &model) || rule.op().empty()) continue;
    bool any = false;
    for (std::size_t op = 0; op < model.ops.size(); ++op) {
      if (!names_op(rule, model.ops[op]) || !has_tensor(rule, model, op)) continue;
      any = true;
      if (!looks_at_tensor(rule.cause())) continue;
      const TensorView* const tensor = looked_at(rule, model, op);
      const std::uint64_t bytes = tensor == nullptr ? 0 : tensor->bytes;
      match.look_costs[kind_of(rule.cause())].add(bytes);
      const std::string place =
          "trigger " + std::to_string(i) + " at " + config::in_quotes(model.ops[op].name);
      match.look_lines.push_back(place + (bytes != 0 ? ", " + byte_text(bytes) + " a step" : ""));
      const std::string_view never = tensor == nullptr ? "" : never_fires(rule.cause(), tensor->dtype);
      if (!never.empty())
        match.look_lines.push_back(place + " never fires: the tensor is " +
                                   std::string(info(tensor->dtype).name) + ", " + std::string(never));
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
  LookCosts costs{};
  for (const ModelMatch& model : models) {
    for (const std::string& line : model.look_lines) lines.push_back("look    " + line);
    for (std::size_t kind = 0; kind < costs.size(); ++kind) {
      costs[kind].looks += model.look_costs[kind].looks;
      costs[kind].bytes += model.look_costs[kind].bytes;
    }
  }
  lines.push_back("look    " + look_cost_text(costs));
  const std::uint64_t memory = options.history_bytes == 0 ? kDefaultHistoryBytes : options.history_bytes;
  const std::uint64_t before = std::min<std::uint64_t>(bytes_per_step * options.history_steps, memory);
  const std::uint64_t firing = before + bytes_per_step * options.after_steps;
  lines.push_back("fire    a firing writes " + byte_text(firing) + " at most: " + byte_text(before) + " of " +
                  count_text(options.history_steps, "step") + " before, and " +
                  count_text(options.after_steps, "step") + " after");
  const TriggerLimits limits = trigger_limits(options);
  std::uint64_t boot = limits.firings_per_boot == 0 ? UINT64_MAX : firing * limits.firings_per_boot;
  if (limits.bytes_per_boot != 0) boot = std::min(boot, limits.bytes_per_boot);
  lines.push_back(boot == UINT64_MAX
                      ? std::string("fire    a boot has no limit: set \"trigger_limits\"")
                      : "fire    a boot writes " + byte_text(boot) + " at most, for " +
                            (limits.firings_per_boot != 0 ? std::to_string(limits.firings_per_boot)
                                                          : std::to_string(firing == 0 ? 0 : boot / firing)) +
                            " firings or fewer, without what the medium adds");
  lines.push_back("fire    a history that lies in flash programs " + byte_text(bytes_per_step) +
                  " a step into its own area besides, whether anything fires or not");
  return lines;
}

}  // namespace opdump::tool
