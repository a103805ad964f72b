#include "src/config/text/model_match.hpp"

#include <algorithm>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "opdump/impl/plan/resolve_plan.hpp"
#include "opdump/parts/text_log.hpp"
#include "opdump/types/plan.hpp"
#include "platform/posix/impl/name_search.hpp"
#include "platform/posix/impl/op_index_memory.hpp"
#include "src/config/refusal.hpp"
#include "src/config/text/human_text.hpp"
#include "src/config/text/privacy_match.hpp"
#include "src/config/text/trigger_match.hpp"

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
  match.is_long = !plan.bits.empty() && !can_be_directory(plan);
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

/// By the names' forms in names of files.
bool file_form_less(std::string_view a, std::string_view b) {
  const auto form = [](char c) { return kSanitised[static_cast<unsigned char>(c)]; };
  return std::lexicographical_compare(a.begin(), a.end(), b.begin(), b.end(), [&](char first, char second) {
    return static_cast<unsigned char>(form(first)) < static_cast<unsigned char>(form(second));
  });
}

/// Where a name is in the order of execution.
struct OpPlaces {
  std::size_t first = 0;
  std::size_t last = 0;
};

/// One described model's names, found in logarithmic time once they have been sorted, when one is first looked for.
class NamedModel {
 public:
  explicit NamedModel(const ModelDesc& desc) : model(desc) {}

  /// The name that files named `name` stand for; empty without one. Of several, the first in the order of execution.
  std::string_view stands_for(std::string_view name) const {
    if (!by_file_form_) sort_by_file_form();
    // `name` stands as it is, and the names that it may stand for do not.
    const auto found = std::lower_bound(by_file_form_->begin(), by_file_form_->end(), name, file_form_less);
    const bool is_form = std::all_of(name.begin(), name.end(),
                                     [](char c) { return kSanitised[static_cast<unsigned char>(c)] == c; });
    return !is_form || found == by_file_form_->end() || file_form_less(name, *found) ? std::string_view()
                                                                                     : *found;
  }

  bool has(std::string_view name) const {
    if (find(name)) return true;
    if (!originals_) sort_originals();
    return std::binary_search(originals_->begin(), originals_->end(), name);
  }

  std::optional<OpPlaces> find(std::string_view op) const {
    if (!by_name_) sort_by_name();
    const auto name_of = [this](std::uint32_t i) { return model.ops[i].name; };
    const auto first =
        std::lower_bound(by_name_->begin(), by_name_->end(), op,
                         [&](std::uint32_t i, std::string_view name) { return name_of(i) < name; });
    const auto end =
        std::upper_bound(first, by_name_->end(), op,
                         [&](std::string_view name, std::uint32_t i) { return name < name_of(i); });
    return first == end ? std::nullopt : std::optional(OpPlaces{*first, *(end - 1)});
  }

  std::optional<OpPlaces> find_or_stand_in(std::string_view op) const {
    const std::optional<OpPlaces> found = find(op);
    return found ? found : find(stands_for(op));
  }

  /// Each once, in order.
  const std::vector<std::string_view>& types() const {
    if (!types_) sort_types();
    return *types_;
  }

  const ModelDesc& model;

 private:
  using Names = std::vector<std::string_view>;

  void sort_by_name() const {
    by_name_.emplace();
    for (std::uint32_t i = 0; i < model.ops.size(); ++i) by_name_->push_back(i);
    std::stable_sort(by_name_->begin(), by_name_->end(), [this](std::uint32_t a, std::uint32_t b) {
      return model.ops[a].name < model.ops[b].name;
    });
  }

  void sort_originals() const {
    Names& names = originals_.emplace();
    for (const OpDesc& op : model.ops)
      names.insert(names.end(), op.original_names.begin(), op.original_names.end());
    std::sort(names.begin(), names.end());
  }

  void sort_by_file_form() const {
    Names& names = by_file_form_.emplace();
    for (const OpDesc& op : model.ops) {
      names.push_back(op.name);
      names.insert(names.end(), op.original_names.begin(), op.original_names.end());
    }
    std::stable_sort(names.begin(), names.end(), file_form_less);
  }

  void sort_types() const {
    Names& names = types_.emplace();
    for (const OpDesc& op : model.ops) names.push_back(op.type);
    std::sort(names.begin(), names.end());
    names.erase(std::unique(names.begin(), names.end()), names.end());
  }

  // Each is made when it is asked for first.
  mutable std::optional<std::vector<std::uint32_t>> by_name_;
  mutable std::optional<Names> by_file_form_;
  mutable std::optional<Names> originals_;
  mutable std::optional<Names> types_;
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
      misses_.push_back({owner(), closest(rule_.model_name, model_names_), std::string(rule_.model_name)});
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

  /// What the kernels of the models are called where types are looked for, in names that tell a type.
  std::vector<std::string_view> types() const {
    std::vector<std::string_view> types;
    for (const NamedModel* named : models_) {
      for (const OpDesc& op : named->model.ops) {
        if (op.name.ends_with(kernel_type(op.name))) continue;
        types.push_back(kernel_type(op.name));
      }
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
      return by_type ? std::binary_search(named.types().begin(), named.types().end(), exclusion.name)
                     : named.find(exclusion.name).has_value();
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
    const std::optional<OpPlaces> begin = named.find_or_stand_in(range.begin);
    const std::optional<OpPlaces> end = named.find_or_stand_in(range.end);
    return begin && end && begin->first <= end->first && begin->last <= end->first;
  }

  template <class Test>
  bool any(Test test) const {
    return std::any_of(models_.begin(), models_.end(), [&](const NamedModel* named) { return test(*named); });
  }

  void miss(std::string what, std::string_view name) {
    misses_.push_back(
        {std::move(what), misses_.size() < kMostHints ? closest(name, op_names()) : std::string(),
         std::string(rule_.any_model ? std::string_view() : rule_.model_name), std::string(name)});
  }

  /// A hint looks at every name, so only the first misses get one.
  std::string closest(std::string_view name, const std::vector<std::string_view>& names) const {
    return misses_.size() < kMostHints ? std::string(config::closest(name, names)) : std::string();
  }

  std::vector<std::string_view> op_types() const {
    std::vector<std::string_view> all;
    for (const NamedModel* named : models_)
      all.insert(all.end(), named->types().begin(), named->types().end());
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
