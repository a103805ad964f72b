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

/// What of a config has been met by a model so far: by rule, and by name in rules that hold for every model.
/// Of a long config the last ones count as met.
class AskedNames {
 public:
  static constexpr std::size_t kMost = 256;

  void clear() {
    for (std::uint32_t& word : met_) word = 0;
    models_ = 0;
  }

  /// Notes what `model` meets.
  void meet(const DumpConfig& config, const ModelDesc& model, const OpIndex& ops = {}) {
    ++models_;
    const RulesOfModel rules(config.models, model);
    for_each(config, [&](std::size_t index, const ModelRule& rule, std::string_view name, bool watched) {
      if (index >= kMost) return;
      const bool met = watched          ? is_own_name(name, model.ops, ops)
                       : rule.any_model ? match_of(name, model.ops, ops) != NameMatch::none
                                        : rules.named() && rule.model_name == rules.name();
      if (met) met_[index / 32] |= std::uint32_t{1} << (index % 32);
    });
  }

  /// Calls `use(NeverCaptured)` for each that no model has met.
  template <class Use>
  void for_each_unmet(const DumpConfig& config, Use use) const {
    if (models_ == 0 && !config.single_ops) return use(NeverCaptured{});
    for_each(config, [&](std::size_t index, const ModelRule& rule, std::string_view name, bool) {
      if (index >= kMost || ((met_[index / 32] >> (index % 32)) & 1) != 0) return;
      if (rule.any_model) return use(NeverCaptured{.cause = NeverCause::no_op, .name = name});
      use(NeverCaptured{.cause = NeverCause::no_model, .model = rule.model_name});
    });
  }

 private:
  /// Watched names are those of operators as they run, not of what was fused into them.
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

  /// Calls `use(index, rule, name, watched)`.
  template <class Use>
  static void for_each(const DumpConfig& config, Use use) {
    std::size_t index = 0;
    for (const ModelRule& rule : config.models) {
      if (!rule.any_model) {
        use(index++, rule, std::string_view(), false);
      } else if (!rule.all_layers) {
        for (const std::string_view layer : rule.layers) use(index++, rule, layer, false);
      }
      if (!config.watch || rule.extras == nullptr) continue;
      for (const std::string_view watched : rule.extras->watched) use(index++, rule, watched, true);
    }
  }

  std::uint32_t met_[kMost / 32] = {};
  std::uint32_t models_ = 0;
};

/// Whether what `config` lists is wanted whatever happens: otherwise it asks for what goes wrong.
constexpr bool wants_listed(const DumpConfig& config) {
  return config.active && bits_of_all(config) == 0 && config.exception == ExceptionDump::none;
}

/// Calls `use(NeverCaptured)` for each name that rules of `config` which name `model` have, and no operator
/// of it.
template <class Use>
void for_each_unknown_name(const DumpConfig& config, const ModelDesc& model, std::string_view directory,
                           const OpIndex& index, Use use) {
  const auto check = [&](std::string_view name) {
    if (match_of(name, model.ops, index) == NameMatch::none)
      use(NeverCaptured{.cause = NeverCause::no_op, .model_id = model.id, .model = directory, .name = name});
  };
  RulesOfModel(config.models, model).for_each([&](const ModelRule& rule) {
    if (!rule.any_model && !rule.all_layers) {
      for (const std::string_view layer : rule.layers) check(layer);
    }
    if (rule.extras == nullptr) return;
    for (const OpRange& range : rule.extras->ranges) {
      check(range.begin);
      check(range.end);
    }
  });
}

/// Calls `use(NeverCaptured)` for the steps that `plan` asks for and the model did not come to.
template <class Use>
void for_each_missed_step(const ModelPlan& plan, Use use) {
  NeverCaptured what = {
      .cause = NeverCause::steps, .model_id = plan.model->id, .model = plan.directory_name};
  for (const StepRange& range : plan.steps.ranges) {
    const std::uint64_t first = range.first < plan.next_step ? plan.next_step : range.first;
    if (first > range.last) continue;
    what.steps = {first, range.last};
    use(what);
  }
}

/// Calls `use(NeverCaptured)` for each operator of `plan`, which watches, that did not run so far, and for what
/// could not be looked at as the watched operator had not run.
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
      // Without a first run there is nothing to compare with either.
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

/// Calls `use(NeverCaptured)` for each operator and step of `plan` that was not captured so far, in full.
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

/// Marks what `plan` lists as not captured so far.
inline void begin_account(ModelPlan& plan) {
  for (std::size_t i = 0; i < plan.bits.size(); ++i) {
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
