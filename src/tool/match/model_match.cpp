#include "src/tool/match/model_match.hpp"

#include <algorithm>
#include <deque>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>

#include "opdump/impl/plan/resolve_plan.hpp"
#include "opdump/parts/text_log.hpp"
#include "opdump/types/plan.hpp"
#include "platform/posix/impl/name_search.hpp"
#include "platform/posix/impl/op_index_memory.hpp"
#include "src/config/refusal.hpp"
#include "src/tool/cli/human_text.hpp"
#include "src/tool/match/privacy_match.hpp"
#include "src/tool/match/trigger_match.hpp"

namespace opdump::tool {
namespace {

std::string in_quotes(std::string_view text) {
  return '"' + printable(text) + '"';
}

ModelMatch match(const DumpConfig& config, const ModelDesc& model, std::vector<Miss>& misses) {
  std::vector<std::uint8_t> bits(model.ops.size());
  ModelPlan plan;
  ModelMatch match = {.model = std::string(model.name)};
  // There are as many bits as it takes.
  if (resolve_plan(config, model, bits, plan, posix::OpIndexMemory(model.ops).index()) != Status::ok)
    return match;
  plan.model = &model;
  match.forecast = forecast_of(config, plan);
  match.bits.assign(plan.bits.begin(), plan.bits.end());
  for (std::size_t i = 0; i < plan.bits.size(); ++i) {
    if (plan.bits[i] != 0) match.matched.emplace_back(model.ops[i].name);
  }
  if (!plan.bits.empty()) match_privacy(config, model, plan.bits, match, misses);
  match_triggers(config, model, match, misses);
  match.lacks_producers = !match.matched.empty() && promises_data_ops(config) && !tell_producers(model.ops);
  return match;
}

/// `name` as it stands in the names of files.
std::string file_form(std::string_view name) {
  std::string text(name);
  for (char& c : text) c = kSanitised[static_cast<unsigned char>(c)];
  return text;
}

/// Where a name is in the order of execution.
struct OpPlaces {
  std::size_t first = 0;
  std::size_t last = 0;
};

/// One described model's names, found in logarithmic time.
class NamedModel {
 public:
  explicit NamedModel(const ModelDesc& desc) : model(desc) {
    for (std::size_t i = 0; i < desc.ops.size(); ++i) {
      const auto [at, is_new] = places_.emplace(desc.ops[i].name, OpPlaces{i, i});
      if (!is_new) at->second.last = i;
      types.insert(desc.ops[i].type);
      by_file_form_.emplace(file_form(desc.ops[i].name), desc.ops[i].name);
      for (const std::string_view original : desc.ops[i].original_names) {
        originals_.insert(original);
        by_file_form_.emplace(file_form(original), original);
      }
    }
  }

  /// The name that files named `name` stand for; empty without one.
  std::string_view stands_for(std::string_view name) const {
    const auto found = by_file_form_.find(name);
    return found == by_file_form_.end() ? std::string_view() : found->second;
  }

  bool has(std::string_view name) const { return places_.contains(name) || originals_.contains(name); }

  const OpPlaces* find(std::string_view op) const {
    const auto found = places_.find(op);
    return found == places_.end() ? nullptr : &found->second;
  }

  const OpPlaces* find_or_stand_in(std::string_view op) const {
    const OpPlaces* const found = find(op);
    return found != nullptr ? found : find(stands_for(op));
  }

  const ModelDesc& model;
  std::set<std::string_view> types;

 private:
  std::map<std::string_view, OpPlaces> places_;
  std::map<std::string, std::string_view, std::less<>> by_file_form_;
  std::set<std::string_view> originals_;
};

/// The described models, by both of their names.
class NamedModels {
 public:
  explicit NamedModels(std::span<const ModelDesc> models) {
    for (const ModelDesc& model : models) all_.emplace_back(model);
    for (const NamedModel& named : all_) {
      every_.push_back(&named);
      names_.push_back(named.model.name);
      by_name_[named.model.name].push_back(&named);
      if (named.model.graph_name.empty()) continue;
      names_.push_back(named.model.graph_name);
      if (named.model.graph_name != named.model.name) by_name_[named.model.graph_name].push_back(&named);
    }
  }

  const std::vector<const NamedModel*>& of(const ModelRule& rule) const {
    if (rule.any_model) return every_;
    const auto found = by_name_.find(rule.model_name);
    return found == by_name_.end() ? none_ : found->second;
  }

  const std::vector<std::string_view>& names() const { return names_; }

 private:
  std::deque<NamedModel> all_;
  std::vector<const NamedModel*> every_;
  std::vector<const NamedModel*> none_;
  std::vector<std::string_view> names_;
  std::map<std::string_view, std::vector<const NamedModel*>> by_name_;
};

/// Looks for what the names of one rule are the names of.
class RuleCheck {
 public:
  RuleCheck(const ModelRule& rule, const NamedModels& models, MatchReport& report)
      : rule_(rule),
        misses_(report.misses),
        stand_ins_(report.stand_ins),
        models_(models.of(rule)),
        model_names_(models.names()) {}

  void run() {
    if (models_.empty()) {
      misses_.push_back({owner(), closest(rule_.model_name, model_names_)});
      return;
    }
    for (const std::string_view layer : rule_.layers) {
      if (!is_known(layer)) miss("layer " + in_quotes(layer) + " of " + owner(), layer);
    }
    if (rule_.extras != nullptr) run(*rule_.extras);
  }

 private:
  std::string owner() const {
    return rule_.any_model ? "every model" : "model " + in_quotes(rule_.model_name);
  }

  void run(const ModelExtras& extras) {
    for (const OpRange& range : extras.ranges) check(range);
    if (!extras.patterns.empty() || !extras.type_parts.empty()) search(extras);
    for (const TensorExclusion& exclusion : extras.exclusions) check(exclusion);
    if (extras.marked && !takes_any({.marked = true}))
      misses_.push_back({"the choice of marked operators", {}});
  }

  void search(const ModelExtras& extras) {
    std::vector<OpDesc> ops;
    for (const NamedModel* named : models_) {
      ops.insert(ops.end(), named->model.ops.begin(), named->model.ops.end());
    }
    posix::NameSearch search(ops);
    search.add(extras);
    static_cast<void>(search.find());
    for (std::size_t i = 0; i < extras.patterns.size(); ++i) {
      if (!search.has_pattern(extras, i))
        misses_.push_back({"pattern " + in_quotes(extras.patterns[i].text) + " of " + owner(), {}});
    }
    for (std::size_t i = 0; i < extras.type_parts.size(); ++i) {
      if (search.has_type_part(extras, i)) continue;
      misses_.push_back(
          {"type " + in_quotes(extras.type_parts[i]) + " of " + owner(),
           misses_.size() < kMostHints ? closest(extras.type_parts[i], types()) : std::string()});
    }
  }

  /// What the kernels of the models are called where types are looked for.
  std::vector<std::string_view> types() const {
    std::vector<std::string_view> types;
    for (const NamedModel* named : models_) {
      for (const OpDesc& op : named->model.ops) types.push_back(kernel_type(op.name));
    }
    return types;
  }

  bool takes_any(const ModelExtras& extras) const {
    for (const NamedModel* named : models_) {
      for (const OpDesc& op : named->model.ops) {
        if (matches(extras, op)) return true;
      }
    }
    return false;
  }

  /// Whether an operator has that name, or files that are named so.
  bool is_known(std::string_view name) {
    if (any([&](const NamedModel& named) { return named.has(name); })) return true;
    for (const NamedModel* named : models_) {
      const std::string_view own = named->stands_for(name);
      if (own.empty()) continue;
      stand_ins_.push_back(in_quotes(name) + " of " + owner() + " stands for " + in_quotes(own) +
                           ", whose files are named so");
      return true;
    }
    return false;
  }

  void check(const TensorExclusion& exclusion) {
    const bool by_type = exclusion.by_type;
    const auto names = [&](const NamedModel& named) {
      return by_type ? named.types.contains(exclusion.name) : named.find(exclusion.name) != nullptr;
    };
    if (any(names)) return;
    const std::string list = by_type ? "optype_blacklist" : "opname_blacklist";
    misses_.push_back({in_quotes(exclusion.name) + " in the " + list + " of " + owner(),
                       misses_.size() < kMostHints
                           ? closest(exclusion.name, by_type ? op_types() : op_names())
                           : std::string()});
  }

  void check(const OpRange& range) {
    const std::string what =
        "range " + in_quotes(range.begin) + " to " + in_quotes(range.end) + " of " + owner();
    for (const std::string_view name : {range.begin, range.end}) {
      if (is_known(name)) continue;
      return miss(in_quotes(name) + " in " + what, name);
    }
    if (!any([&](const NamedModel& named) { return holds_whole(named, range); }))
      misses_.push_back({what + ", which does not run in that order,", {}});
  }

  /// Whether it begins, then ends, and begins no more.
  static bool holds_whole(const NamedModel& named, const OpRange& range) {
    const OpPlaces* const begin = named.find_or_stand_in(range.begin);
    const OpPlaces* const end = named.find_or_stand_in(range.end);
    return begin != nullptr && end != nullptr && begin->first <= end->first && begin->last <= end->first;
  }

  template <class Test>
  bool any(Test test) const {
    return std::any_of(models_.begin(), models_.end(), [&](const NamedModel* named) { return test(*named); });
  }

  void miss(std::string what, std::string_view name) {
    misses_.push_back(
        {std::move(what), misses_.size() < kMostHints ? closest(name, op_names()) : std::string()});
  }

  /// A hint looks at every name, so only the first misses get one.
  std::string closest(std::string_view name, const std::vector<std::string_view>& names) const {
    return misses_.size() < kMostHints ? std::string(config::closest(name, names)) : std::string();
  }

  std::vector<std::string_view> op_types() const {
    std::vector<std::string_view> all;
    for (const NamedModel* named : models_) all.insert(all.end(), named->types.begin(), named->types.end());
    return all;
  }

  std::vector<std::string_view> op_names() const {
    std::vector<std::string_view> names;
    for (const NamedModel* named : models_) {
      for (const OpDesc& op : named->model.ops) {
        names.push_back(op.name);
        names.insert(names.end(), op.original_names.begin(), op.original_names.end());
      }
    }
    return names;
  }

  static constexpr std::size_t kMostHints = 10;

  const ModelRule& rule_;
  std::vector<Miss>& misses_;
  std::vector<std::string>& stand_ins_;
  const std::vector<const NamedModel*>& models_;
  const std::vector<std::string_view>& model_names_;
};

}  // namespace

MatchReport match_models(const DumpConfig& config, std::span<const ModelDesc> models) {
  MatchReport report;
  report.forecast.rules = config.models.size();
  for (const ModelDesc& model : models)
    report.forecast += report.models.emplace_back(match(config, model, report.misses)).forecast;
  const NamedModels named(models);
  for (const ModelRule& rule : config.models) RuleCheck(rule, named, report).run();
  report.triggers = trigger_lines(config, report.models, report.forecast.bytes_per_step);
  return report;
}

std::string miss_text(const Miss& miss) {
  std::string text = miss.what + " matches nothing";
  if (!miss.closest.empty()) text += "; did you mean " + in_quotes(miss.closest) + "?";
  return text;
}

std::vector<std::string> match_lines(const MatchReport& report) {
  std::vector<std::string> lines;
  bool any_kept = false;
  for (const ModelMatch& model : report.models) {
    std::string line = "match   model " + in_quotes(model.model) + ": " +
                       std::to_string(model.matched.size()) + " of " +
                       count_text(model.forecast.ops, "operator");
    for (std::size_t i = 0; i < model.matched.size(); ++i)
      line += (i == 0 ? ": " : ", ") + in_quotes(model.matched[i]);
    lines.push_back(std::move(line));
    for (const std::string& kept : model.kept) lines.push_back("keep    " + kept);
    if (model.refused)
      lines.push_back("note    model " + in_quotes(model.model) +
                      " is not dumped: a rule of the privacy names none of its tensors, or none is for it; "
                      "\"privacy_unmatched\": \"tell\" dumps it all the same");
    any_kept = any_kept || !model.kept.empty();
    if (model.lacks_producers)
      lines.push_back("note    model " + in_quotes(model.model) + ": " + std::string(kNoDataOps));
  }
  for (const std::string& name : report.stand_ins) lines.push_back("name    " + name);
  for (const Miss& miss : report.misses) lines.push_back("miss    " + miss_text(miss));
  char memory[kMaxForecastText];
  TextWriter forecast(memory);
  lines.push_back("cost    " +
                  std::string(add_forecast(forecast, report.forecast, report.partition_bytes).text()));
  for (const std::string& line : report.triggers) lines.push_back(line);
  if (any_kept)
    lines.push_back("note    the cost is that of whole tensors, of which the privacy leaves out a part");
  return lines;
}

}  // namespace opdump::tool
