#pragma once
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "opdump/impl/plan/op_index.hpp"
#include "opdump/impl/plan/resolve_plan.hpp"
#include "opdump/types/account.hpp"
#include "opdump/types/config.hpp"
#include "opdump/types/model.hpp"
#include "opdump/types/plan.hpp"

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
    for_each(config, [&](std::size_t index, const ModelRule& rule, std::string_view name) {
      if (index >= kMost) return;
      const bool met = rule.any_model ? match_of(name, model.ops, ops) != NameMatch::none
                                      : rules.named() && rule.model_name == rules.name();
      if (met) met_[index / 32] |= std::uint32_t{1} << (index % 32);
    });
  }

  /// Calls `use(NeverCaptured)` for each that no model has met.
  template <class Use>
  void for_each_unmet(const DumpConfig& config, Use use) const {
    if (models_ == 0 && !config.single_ops) return use(NeverCaptured{});
    for_each(config, [&](std::size_t index, const ModelRule& rule, std::string_view name) {
      if (index >= kMost || ((met_[index / 32] >> (index % 32)) & 1) != 0) return;
      if (rule.any_model) return use(NeverCaptured{.cause = NeverCause::no_op, .name = name});
      use(NeverCaptured{.cause = NeverCause::no_model, .model = rule.model_name});
    });
  }

 private:
  template <class Use>
  static void for_each(const DumpConfig& config, Use use) {
    std::size_t index = 0;
    for (const ModelRule& rule : config.models) {
      if (!rule.any_model) {
        use(index++, rule, {});
      } else if (!rule.all_layers) {
        for (const std::string_view layer : rule.layers) use(index++, rule, layer);
      }
    }
  }

  std::uint32_t met_[kMost / 32] = {};
  std::uint32_t models_ = 0;
};

/// Whether what `config` lists is wanted whatever happens: otherwise it asks for what goes wrong.
constexpr bool wants_listed(const DumpConfig& config) {
  return config.active && bits_of_all(config) == 0 && !config.watch &&
         config.exception == ExceptionDump::none;
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
  what.type = what.name = {};
  what.cause = NeverCause::steps;
  for (const StepRange& range : plan.steps.ranges) {
    const std::uint64_t first = range.first < plan.next_step ? plan.next_step : range.first;
    if (!any || first > range.last) continue;
    what.steps = {first, range.last};
    use(what);
  }
}

/// Marks what `plan` lists as not captured so far.
inline void begin_account(ModelPlan& plan) {
  for (std::size_t i = 0; i < plan.bits.size(); ++i) {
    std::uint8_t& bits = plan.bits[i];
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
