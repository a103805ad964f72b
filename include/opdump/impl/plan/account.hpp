#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "opdump/impl/plan/op_index.hpp"
#include "opdump/impl/plan/resolve_plan.hpp"
#include "opdump/types/account.hpp"
#include "opdump/types/config.hpp"
#include "opdump/types/model.hpp"
#include "opdump/types/plan.hpp"
#include "opdump/types/watch.hpp"

namespace opdump {
inline namespace OPDUMP_NAMESPACE {

/// Whether the model has an operator that `exclusion` names.
template <class Index>
bool is_met(const TensorExclusion& exclusion, std::span<const OpDesc> ops, const Index& index) {
  if constexpr (!build::kLean) {
    if (!index.empty())
      return exclusion.by_type ? !index.of_type(exclusion.name).empty()
                               : !index.exact(exclusion.name, false).empty();
  }
  for (const OpDesc& op : ops) {
    if (RemainingTensors::names(exclusion, op)) return true;
  }
  return false;
}

/// How it is told that none has.
constexpr NeverCause cause_of(const TensorExclusion& exclusion) {
  return exclusion.by_type ? NeverCause::no_excluded_type : NeverCause::no_excluded_op;
}

/// Which entries of a config some model has met so far: rules for one model, and the names in rules for every
/// model. Of the entries beyond `kMost` it keeps only whether one model has met all of them.
class AskedNames {
 public:
  static constexpr std::size_t kMost = 256;

  void clear() { *this = AskedNames(); }

  /// Notes which entries `model` meets. An `index` with a search has searched for the extras of `config`.
  void meet(const DumpConfig& config, const ModelDesc& model, const OpIndex& index = {}) {
    ++models_;
    const RulesOfModel rules(config.models, model);
    std::size_t first_unmet = kNone;
    for_each(config, [&](std::size_t number, const Asked& asked) {
      if (!is_met(asked, rules, model.ops, index)) {
        if (number >= kMost && first_unmet == kNone) first_unmet = number;
      } else if (number < kMost) {
        met_[number / 32] |= std::uint32_t{1} << (number % 32);
      }
    });
    if (last_unmet_ != kNone) last_unmet_ = first_unmet;
  }

  /// Calls `use(NeverCaptured)` for each entry that no model has met; once, without a name, if no model was loaded.
  template <class Use>
  void for_each_unmet(const DumpConfig& config, Use use) const {
    if (models_ == 0 && !config.single_ops) return use(NeverCaptured{});
    for_each(config, [&](std::size_t number, const Asked& asked) {
      const bool of_model = asked.cause == NeverCause::no_model;
      const std::string_view model = of_model ? asked.rule.model_name : std::string_view();
      if (number >= kMost) {
        if (number == last_unmet_ || (last_unmet_ == kUnknown && number == kMost))
          use(NeverCaptured{.cause = NeverCause::uncounted, .name = of_model ? model : asked.name});
      } else if (((met_[number / 32] >> (number % 32)) & 1) == 0) {
        use(NeverCaptured{.cause = asked.cause, .model = model, .name = asked.name});
      }
    });
  }

 private:
  static constexpr std::size_t kNone = SIZE_MAX;         ///< a model has met them all
  static constexpr std::size_t kUnknown = SIZE_MAX - 1;  ///< no model came

  /// What can be met, and how it is told when no model does.
  struct Asked {
    NeverCause cause;
    const ModelRule& rule;
    std::string_view name{};
    std::size_t index = 0;  ///< in its list
    bool watched = false;
  };

  static bool is_met(const Asked& asked, const RulesOfModel& rules, std::span<const OpDesc> ops,
                     const OpIndex& index) {
    const auto any = [ops](auto test) {
      for (const OpDesc& op : ops) {
        if (test(op)) return true;
      }
      return false;
    };
    switch (asked.cause) {
      case NeverCause::no_model:
        return rules.named() && asked.rule.model_name == rules.name();
      case NeverCause::no_excluded_op:
      case NeverCause::no_excluded_type:
        return opdump::is_met(asked.rule.extras->exclusions[asked.index], ops, index);
      case NeverCause::no_mark:
        return any([](const OpDesc& op) { return op.marked; });
      case NeverCause::no_type:
        if (index.search() != nullptr) return index.search()->has_type_part(*asked.rule.extras, asked.index);
        return any([&](const OpDesc& op) { return contains_folded(kernel_type(op.name), asked.name); });
      case NeverCause::no_match:
        if (index.search() != nullptr) return index.search()->has_pattern(*asked.rule.extras, asked.index);
        return any(
            [&](const OpDesc& op) { return matches(asked.rule.extras->patterns[asked.index], op.name); });
      default:
        return asked.watched ? is_own_name(asked.name, ops, index)
                             : match_of(asked.name, ops, index) != NameMatch::none;
    }
  }

  /// A watched name must be an operator's own name, not that of an operator fused into it.
  template <class Index>
  static bool is_own_name(std::string_view name, std::span<const OpDesc> descs, const Index& ops) {
    if constexpr (!build::kLean) {
      if (!ops.empty()) return !ops.exact(name, false).empty();
    }
    for (const OpDesc& op : descs) {
      if (op.name == name) return true;
    }
    return false;
  }

  /// Calls `use(number, asked)` for each entry.
  template <class Use>
  static void for_each(const DumpConfig& config, Use use) {
    std::size_t number = 0;
    for (const ModelRule& rule : config.models) {
      if (!rule.any_model) {
        use(number++, Asked{NeverCause::no_model, rule});
      } else if (!rule.all_layers) {
        for (const std::string_view layer : rule.layers) use(number++, Asked{NeverCause::no_op, rule, layer});
      }
      if (rule.extras == nullptr) continue;
      const ModelExtras& extras = *rule.extras;
      if (config.watch) {
        for (const std::string_view watched : extras.watched)
          use(number++, Asked{.cause = NeverCause::no_op, .rule = rule, .name = watched, .watched = true});
      } else if (rule.any_model) {
        for (std::size_t i = 0; i < extras.type_parts.size(); ++i)
          use(number++, Asked{NeverCause::no_type, rule, extras.type_parts[i], i});
        for (std::size_t i = 0; i < extras.patterns.size(); ++i)
          use(number++, Asked{NeverCause::no_match, rule, extras.patterns[i].text, i});
        if (extras.marked) use(number++, Asked{NeverCause::no_mark, rule});
        for (std::size_t i = 0; i < extras.exclusions.size(); ++i)
          use(number++, Asked{cause_of(extras.exclusions[i]), rule, extras.exclusions[i].name, i});
      }
    }
  }

  std::uint32_t met_[kMost / 32] = {};
  std::uint32_t models_ = 0;
  /// The first one from `kMost` on that the last model has not met.
  std::size_t last_unmet_ = kUnknown;
};

/// Whether `config` wants the listed operators unconditionally; otherwise it asks for overflows or failures.
constexpr bool wants_listed(const DumpConfig& config) {
  return config.active && bits_of_all(config) == 0 && config.exception == ExceptionDump::none;
}

/// What `level` makes of the operators that `name` stands for, by the index where there is one.
template <class Index>
NameLevel level_of(std::string_view name, DumpLevel level, std::span<const OpDesc> ops, const Index& index) {
  if constexpr (!build::kLean) {
    if (!index.empty())
      return index.level_of(name, [&](std::uint32_t op) { return takes_level(level, ops[op].level); });
  }
  const NameMatch match = match_of(name, ops);
  if (match == NameMatch::none) return NameLevel::no_op;
  for (const OpDesc& op : ops) {
    if (takes_level(level, op.level) && has_name(op, [&](std::string_view own) {
          return match == NameMatch::exact ? own == name : is_file_form(name, own);
        }))
      return NameLevel::taken;
  }
  return NameLevel::left_out;
}

/// Calls `use(NeverCaptured)` for each name that rules of `config` which name `model` have, and no operator
/// of it, also where they leave tensors out; and for all that `dump_level` leaves out though a rule lists it.
template <class Use>
void for_each_unknown_name(const DumpConfig& config, const ModelDesc& model, std::string_view directory,
                           const OpIndex& index, Use use) {
  NeverCaptured what = {.model_id = model.id, .model = directory};
  const auto tell = [&](NeverCause cause, std::string_view name) {
    what.cause = cause;
    what.name = name;
    use(what);
  };
  bool takes_any = config.level == DumpLevel::all || model.ops.empty();
  for (std::size_t i = 0; i < model.ops.size() && !takes_any; ++i)
    takes_any = takes_level(config.level, model.ops[i].level);
  RulesOfModel(config.models, model).for_each([&](const ModelRule& rule) {
    if (rule.all_layers && !takes_any) {
      tell(NeverCause::level, {});
      takes_any = true;
    }
    const bool named = !rule.any_model;
    for (const std::string_view layer : rule.layers) {
      if (rule.all_layers || (!named && config.level == DumpLevel::all)) break;
      const NameLevel found = level_of(layer, config.level, model.ops, index);
      if (found == NameLevel::left_out) tell(NeverCause::level, layer);
      if (found == NameLevel::no_op && named) tell(NeverCause::no_op, layer);
    }
    if (rule.extras == nullptr) return;
    for (const std::string_view watched : rule.extras->watched) {
      if (config.watch && level_of(watched, config.level, model.ops, index) == NameLevel::left_out)
        tell(NeverCause::level, watched);
    }
    for (const OpRange& range : rule.extras->ranges) {
      for (const std::string_view end : {range.begin, range.end}) {
        if (match_of(end, model.ops, index) == NameMatch::none) tell(NeverCause::no_op, end);
      }
    }
    for (const TensorExclusion& exclusion : rule.extras->exclusions) {
      if (named && !config.watch && !is_met(exclusion, model.ops, index))
        tell(cause_of(exclusion), exclusion.name);
    }
  });
}

/// Calls `use(NeverCaptured)` for the steps that `plan` asks for and the model did not come to, or of which
/// its count of steps went past some.
template <class Plan, class Use>
void for_each_missed_step(const Plan& plan, Use use) {
  NeverCaptured what = {.model_id = plan.model->id, .model = plan.directory_name};
  const auto tell = [&](NeverCause cause, const StepRange& within) {
    what.cause = cause;
    for (const StepRange& range : plan.steps.ranges) {
      what.steps.first = range.first < within.first ? within.first : range.first;
      what.steps.last = range.last < within.last ? range.last : within.last;
      if (what.steps.first <= what.steps.last) use(what);
    }
  };
  if constexpr (!build::kLean) {
    tell(NeverCause::skipped, plan.skipped);
    tell(NeverCause::steps, {plan.steps_end, UINT64_MAX});
  }
}

/// Calls `use(NeverCaptured)` for each operator of a watching `plan` that has not run so far, and for each
/// output that could not be compared because the watched operator had not run yet.
template <class Plan, class Use>
void for_each_unwatched(const Plan& plan, bool changes_only, Use use) {
  NeverCaptured what = {.model_id = plan.model->id, .model = plan.directory_name};
  const auto tell = [&](NeverCause cause, std::size_t op, std::string_view name) {
    what.cause = cause;
    what.type = plan.model->ops[op].type;
    what.name = name;
    use(what);
  };
  bool any = false;
  for (std::size_t i = 0; i < plan.bits.size(); ++i) {
    if ((plan.bits[i] & kWatchNotRun) != 0) tell(NeverCause::not_run, i, plan.model->ops[i].name);
    any = any || (plan.bits[i] & (kWatchNotRun | kWatched)) == kWatched;
  }
  if (any) for_each_missed_step(plan, use);
  if constexpr (build::kFaults && !build::kLean) {
    for (const auto& watched : plan.watch.ops) {
      const EarlySuspects& early = watched.early;
      // If the watched operator never ran, `not_run` above says so already.
      if (changes_only || early.count == 0 || (plan.bits[watched.op] & kWatchNotRun) != 0) continue;
      const std::string_view name = plan.model->ops[watched.op].name;
      what.steps = {early.first_step, early.last_step};
      for (std::uint32_t i = 0; i < early.count && i < EarlySuspects::kMost; ++i)
        tell(NeverCause::before_run, early.ops[i],
             plan.watch.name_of(plan.model->ops[early.ops[i]].name, name));
      if (early.count > EarlySuspects::kMost) tell(NeverCause::before_run, watched.op, name);
    }
  }
}

/// Calls `use(NeverCaptured)` for each operator and step of `plan` that has not been captured in full so far.
template <class Use>
void for_each_uncaptured(const ModelPlan& plan, Use use) {
  const ModelDesc& model = *plan.model;
  NeverCaptured what = {.model_id = model.id, .model = plan.directory_name};
  bool any = false;
  bool waits = false;
  for (const std::uint8_t bits : plan.bits) {
    const bool listed = (bits & (kCaptureInputs | kCaptureOutputs)) != 0;
    any = any || (listed && (bits & kNotRun) == 0);
    waits = waits || (bits & kNotRun) != 0;
  }
  if (waits && !any) {
    what.cause = NeverCause::not_dumped;
    return use(what);
  }
  const auto tell = [&](std::size_t op, NeverCause cause) {
    what.cause = cause;
    what.type = model.ops[op].type;
    what.name = model.ops[op].name;
    use(what);
  };
  for (std::size_t i = 0; i < plan.bits.size(); ++i) {
    if ((plan.bits[i] & kNotRun) != 0) {
      tell(i, NeverCause::not_run);
      continue;
    }
    if ((plan.bits[i] & kNoInputs) != 0) tell(i, NeverCause::no_inputs);
    if ((plan.bits[i] & kNoOutputs) != 0) tell(i, NeverCause::no_outputs);
  }
  if (any) for_each_missed_step(plan, use);
}

/// Marks the operators from `first` on that `plan` lists as not captured yet.
inline void begin_account(ModelPlan& plan, std::size_t first = 0) {
  for (std::size_t i = first; i < plan.bits.size(); ++i) {
    std::uint8_t& bits = plan.bits[i];
    if (is_watching(plan)) {
      if (bits != 0) bits = static_cast<std::uint8_t>(bits | kWatchNotRun);
      continue;
    }
    unsigned unseen = (bits & (kCaptureInputs | kCaptureOutputs)) != 0 ? kNotRun : 0u;
    const bool told = plan.model->tensors.size() == plan.model->ops.size();
    const bool has_inputs = !told || !plan.model->tensors[i].inputs.empty();
    const bool has_outputs = !told || !plan.model->tensors[i].outputs.empty();
    if ((bits & kCaptureInputs) != 0 && has_inputs) unseen |= kNoInputs;
    if ((bits & kCaptureOutputs) != 0 && has_outputs) unseen |= kNoOutputs;
    bits = static_cast<std::uint8_t>(bits | unseen);
  }
}

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump
