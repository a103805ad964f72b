#include "config_text.hpp"

#include "human_text.hpp"

namespace opdump::tool {
namespace {

std::string_view mode_text(DumpMode mode) {
  switch (mode) {
    case DumpMode::input:
      return "the inputs";
    case DumpMode::output:
      return "the outputs";
    case DumpMode::all:
      break;
  }
  return "the inputs and outputs";
}

std::string_view level_text(DumpLevel level) {
  switch (level) {
    case DumpLevel::op:
      return "operators as a whole, not their kernels";
    case DumpLevel::kernel:
      return "kernels, not operators of several kernels as a whole";
    case DumpLevel::all:
      break;
  }
  return "operators and kernels";
}

std::string steps_text(const StepSet& steps) {
  if (steps.every_step()) return "every step";
  std::string text;
  for (const StepRange& range : steps.ranges) {
    if (!text.empty()) text += ", ";
    text += std::to_string(range.first);
    if (range.last != range.first) text += " to " + std::to_string(range.last);
  }
  const bool one = steps.ranges.size() == 1 && steps.ranges[0].first == steps.ranges[0].last;
  return (one ? "step " : "steps ") + text + ", counted from 0 when a model is loaded";
}

std::string rule_text(const ModelRule& rule) {
  std::string text = rule.any_model ? "every model" : "model \"" + printable(rule.model_name) + '"';
  if (rule.all_layers) return text + ": every operator";
  text += ": ";
  bool first = true;
  for (const std::string_view layer : rule.layers) {
    if (!first) text += ", ";
    text += '"' + printable(layer) + '"';
    first = false;
  }
  if (!first) text += ", by their own names or those of operators fused into them";
  for (const OpRange& range : rule.extras == nullptr ? std::span<const OpRange>{} : rule.extras->ranges) {
    if (!first) text += "; ";
    text +=
        "from \"" + printable(range.begin) + "\" to \"" + printable(range.end) + "\" in the order they run";
    first = false;
  }
  return text;
}

}  // namespace

std::vector<std::string> config_lines(const DumpConfig& config) {
  std::vector<std::string> lines;
  lines.push_back("what    " + std::string(mode_text(config.mode)) + " of " +
                  std::string(level_text(config.level)));
  for (const ModelRule& rule : config.models) lines.push_back("models  " + rule_text(rule));
  if (config.models.empty()) lines.push_back("models  none");
  if (config.single_ops) {
    lines.push_back(
        config.steps.every_step()
            ? "single  operators run outside a model too"
            : "single  operators run outside a model never: they have no step, and steps are asked for");
  }
  lines.push_back("steps   " + steps_text(config.steps));
  lines.push_back("to      " + printable(config.dump_path));
  return lines;
}

}  // namespace opdump::tool
