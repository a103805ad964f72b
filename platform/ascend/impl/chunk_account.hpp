#pragma once
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "opdump/impl/drain/journal.hpp"
#include "opdump/impl/plan/account.hpp"
#include "opdump/types/account.hpp"
#include "opdump/types/config.hpp"
#include "opdump/types/plan.hpp"
#include "platform/ascend/impl/chunk_filter.hpp"

namespace opdump::ascend {
inline namespace OPDUMP_NAMESPACE {

/// What of a config's models, operators and steps files have come for. Of the names behind the 256th, and of
/// the models behind the 16th, it keeps no account.
class ChunkAccount {
 public:
  void clear() { *this = ChunkAccount(); }

  /// A file came that the config wants.
  void meet(const DumpConfig& config, const ChunkName& name, const RecordStart& start) {
    any_ = true;
    if (!name.is_record) return;
    const OpDesc op = op_of(name, start);
    for_each(config, [&](std::size_t number, const ModelRule& rule, std::string_view layer) {
      if (name.in_model && !is_of_model(rule, name.model)) return;
      if (layer.empty() ? name.in_model : is_layer(layer, op, name)) met_[number] = true;
    });
    if (!name.in_model) {
      any_single_ = true;
    } else if (Model* const model = model_of(name)) {
      model->steps_end = std::max(model->steps_end, name.step + 1);
    }
  }

  /// Calls `use(device, any_device, NeverCaptured)` for each thing that no file came for.
  template <class Use>
  void for_each_unmet(const DumpConfig& config, Use use) const {
    if (!config.active) return;
    if (!any_) return use(0u, true, NeverCaptured{});
    if (config.single_ops && !any_single_ && config.models.empty())
      use(0u, true, NeverCaptured{.cause = NeverCause::no_single_op});
    for_each(config, [&](std::size_t number, const ModelRule& rule, std::string_view layer) {
      if (met_[number]) return;
      const std::string_view model = rule.any_model ? std::string_view() : rule.model_name;
      if (layer.empty()) {
        use(0u, true, NeverCaptured{.cause = NeverCause::no_model, .model = model, .name = model});
      } else {
        use(0u, true, NeverCaptured{.cause = NeverCause::no_op, .model = model, .name = layer});
      }
    });
    for (const Model& model : models_) {
      if (model.name_bytes == 0) continue;
      const ModelDesc desc = {.name = {model.name, model.name_bytes}, .id = model.id};
      ModelPlan plan;
      plan.model = &desc;
      plan.directory_name = desc.name;
      plan.steps = config.steps;
      plan.steps_end = model.steps_end;
      for_each_missed_step(plan, [&](const NeverCaptured& what) { use(model.device, false, what); });
    }
  }

 private:
  static constexpr std::size_t kMostNames = AskedNames::kMost;

  struct Model {
    std::uint64_t steps_end = 0;
    std::uint32_t id = 0;
    std::uint32_t device = 0;
    std::size_t name_bytes = 0;  ///< 0: the place is free
    char name[kMostNeverTextBytes];
  };

  /// Calls `use(number, rule, layer)` for each name of the config; without a layer for a rule that names a model.
  template <class Use>
  static void for_each(const DumpConfig& config, Use use) {
    std::size_t number = 0;
    for (const ModelRule& rule : config.models) {
      if (!rule.any_model && number < kMostNames) use(number++, rule, std::string_view());
      // Of an operator in a range or a pattern no name is asked for.
      for (const std::string_view layer : rule.layers) {
        if (!rule.all_layers && number < kMostNames) use(number++, rule, layer);
      }
    }
  }

  Model* model_of(const ChunkName& name) {
    const std::string_view text = name.model.substr(0, kMostNeverTextBytes);
    for (Model& model : models_) {
      const bool is_free = model.name_bytes == 0;
      if (!is_free && (model.id != name.model_id || model.device != name.device ||
                       std::string_view(model.name, model.name_bytes) != text))
        continue;
      if (is_free) {
        model.id = name.model_id;
        model.device = name.device;
        model.name_bytes = text.copy(model.name, sizeof model.name);
      }
      return &model;
    }
    return nullptr;
  }

  bool any_ = false;
  bool any_single_ = false;
  std::array<bool, kMostNames> met_{};
  std::array<Model, 16> models_{};
};

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::ascend
