#include "model_match.hpp"

#include <algorithm>
#include <string_view>

#include "human_text.hpp"
#include "opdump/model_plan.hpp"
#include "run_tensors.hpp"
#include "src/config/refusal.hpp"

namespace opdump::tool {
namespace {

std::string in_quotes(std::string_view text) {
  return '"' + printable(text) + '"';
}

std::vector<OpDesc> descs_of(const RunModel& model) {
  std::vector<OpDesc> descs;
  for (const RunOp& op : model.ops) {
    descs.push_back(op.desc);
    descs.back().original_names = op.original_names;
  }
  return descs;
}

ModelMatch match(const DumpConfig& config, const RunModel& model) {
  const std::vector<OpDesc> descs = descs_of(model);
  const RunTensors tensors(model.ops);
  const ModelDesc desc = {model.name, model.graph_name, model.id, descs, tensors.of_ops()};
  std::vector<std::uint8_t> bits(descs.size());
  ModelPlan plan;
  ModelMatch match = {.model = std::string(model.name)};
  // There are as many bits as it takes.
  if (resolve_plan(config, desc, bits, plan) != Status::ok) return match;
  plan.model = &desc;
  match.forecast = forecast_of(config, plan);
  for (std::size_t i = 0; i < plan.bits.size(); ++i) {
    if (plan.bits[i] != 0) match.matched.emplace_back(descs[i].name);
  }
  return match;
}

/// Looks for what the names of one rule are the names of.
class RuleCheck {
 public:
  RuleCheck(const ModelRule& rule, const RunFile& run, std::vector<Miss>& misses)
      : rule_(rule), misses_(misses) {
    for (const RunModel& model : run.models) {
      model_names_.push_back(model.name);
      if (!model.graph_name.empty()) model_names_.push_back(model.graph_name);
      if (rule.any_model || rule.model_name == model.name || rule.model_name == model.graph_name)
        models_.push_back(&model);
    }
  }

  void run() {
    if (models_.empty()) {
      miss(owner(), rule_.model_name, model_names_);
      return;
    }
    for (const RunModel* model : models_) {
      for (const RunOp& op : model->ops) {
        op_names_.push_back(op.desc.name);
        op_names_.insert(op_names_.end(), op.original_names.begin(), op.original_names.end());
      }
    }
    for (const std::string_view layer : rule_.layers) {
      if (std::find(op_names_.begin(), op_names_.end(), layer) == op_names_.end())
        miss("layer " + in_quotes(layer) + " of " + owner(), layer, op_names_);
    }
    if (rule_.extras != nullptr) run(*rule_.extras);
  }

 private:
  std::string owner() const {
    return rule_.any_model ? "every model" : "model " + in_quotes(rule_.model_name);
  }

  void run(const ModelExtras& extras) {
    for (const OpRange& range : extras.ranges) check(range);
    for (const NamePattern& pattern : extras.patterns) {
      if (!takes_any({.patterns = {&pattern, 1}}))
        misses_.push_back({"pattern " + in_quotes(pattern.text) + " of " + owner(), {}});
    }
    for (const std::string_view& type : extras.type_parts) {
      if (!takes_any({.type_parts = {&type, 1}}))
        miss("type " + in_quotes(type) + " of " + owner(), type, types());
    }
    if (extras.marked && !takes_any({.marked = true}))
      misses_.push_back({"the choice of marked operators", {}});
  }

  /// What the kernels of the models are called where types are looked for.
  std::vector<std::string_view> types() const {
    std::vector<std::string_view> types;
    for (const RunModel* model : models_) {
      for (const RunOp& op : model->ops) types.push_back(kernel_type(op.desc.name));
    }
    return types;
  }

  bool takes_any(const ModelExtras& extras) const {
    for (const RunModel* model : models_) {
      for (const RunOp& op : model->ops) {
        if (matches(extras, op.desc)) return true;
      }
    }
    return false;
  }

  void check(const OpRange& range) {
    const std::string what =
        "range " + in_quotes(range.begin) + " to " + in_quotes(range.end) + " of " + owner();
    for (const std::string_view name : {range.begin, range.end}) {
      if (std::find(op_names_.begin(), op_names_.end(), name) != op_names_.end()) continue;
      miss(in_quotes(name) + " in " + what, name, op_names_);
      return;
    }
    for (const RunModel* model : models_) {
      RangeWalk walk(range);
      for (const RunOp& op : model->ops) static_cast<void>(walk.takes(op.desc.name));
      if (walk.whole()) return;
    }
    misses_.push_back({what + ", which does not run in that order,", {}});
  }

  void miss(std::string what, std::string_view name, const std::vector<std::string_view>& names) {
    misses_.push_back({std::move(what), std::string(config::closest(name, names))});
  }

  const ModelRule& rule_;
  std::vector<Miss>& misses_;
  std::vector<const RunModel*> models_;
  std::vector<std::string_view> model_names_;
  std::vector<std::string_view> op_names_;
};

}  // namespace

MatchReport match_models(const DumpConfig& config, const RunFile& run) {
  MatchReport report;
  report.forecast.rules = config.models.size();
  for (const RunModel& model : run.models)
    report.forecast += report.models.emplace_back(match(config, model)).forecast;
  for (const ModelRule& rule : config.models) RuleCheck(rule, run, report.misses).run();
  return report;
}

std::string miss_text(const Miss& miss) {
  std::string text = miss.what + " matches nothing";
  if (!miss.closest.empty()) text += "; did you mean " + in_quotes(miss.closest) + "?";
  return text;
}

std::vector<std::string> match_lines(const MatchReport& report) {
  std::vector<std::string> lines;
  for (const ModelMatch& model : report.models) {
    std::string line = "match   model " + in_quotes(model.model) + ": " +
                       std::to_string(model.matched.size()) + " of " +
                       count_text(model.forecast.ops, "operator");
    for (std::size_t i = 0; i < model.matched.size(); ++i)
      line += (i == 0 ? ": " : ", ") + in_quotes(model.matched[i]);
    lines.push_back(std::move(line));
  }
  for (const Miss& miss : report.misses) lines.push_back("miss    " + miss_text(miss));
  char memory[kMaxForecastText];
  TextWriter forecast(memory);
  lines.push_back("cost    " +
                  std::string(add_forecast(forecast, report.forecast, report.partition_bytes).text()));
  return lines;
}

}  // namespace opdump::tool
