#pragma once
#include <string_view>

#include "opdump/impl/plan/resolve_plan.hpp"
#include "opdump/types/config.hpp"
#include "opdump/types/model.hpp"
#include "opdump/types/plan.hpp"
#include "platform/ascend/chunk_name.hpp"
#include "platform/ascend/impl/record_start.hpp"

namespace opdump::ascend {
inline namespace OPDUMP_NAMESPACE {

/// Whether `rule` is of the model whose directory has that name.
constexpr bool is_of_model(const ModelRule& rule, std::string_view directory) {
  return rule.any_model || rule.model_name == directory || is_file_form(directory, rule.model_name);
}

/// Whether the entry `layer` of a config names the operator, by its own name, by that of an operator fused
/// into it, or by the form that its name has in files.
constexpr bool is_layer(std::string_view layer, const OpDesc& op, const ChunkName& name) {
  return has_name(op, [layer](std::string_view own) { return own == layer; }) || layer == name.op_name ||
         is_file_form(name.op_name, layer);
}

/// Whether `rule` takes the operator. Which operators lie in a range only CANN can tell, who knows their order.
constexpr bool takes(const ModelRule& rule, const OpDesc& op, const ChunkName& name) {
  if (matches(rule, op) || (rule.extras != nullptr && !rule.extras->ranges.empty())) return true;
  for (const std::string_view layer : rule.layers) {
    if (is_layer(layer, op, name)) return true;
  }
  return false;
}

/// The operator of a record, as the plan's code wants it. Refers to both.
inline OpDesc op_of(const ChunkName& name, const RecordStart& start) {
  return {.name = is_file_form(name.op_name, start.op_name()) ? start.op_name() : name.op_name,
          .type = name.type,
          .original_names = start.original_names()};
}

/// Whether `config` wants the file: its device, step, model and operator, as far as name and head tell them.
/// What they do not tell is no reason against the file. What CANN alone decides (overflows, watched tensors,
/// ranges, tensors left out) is left to CANN.
inline bool wants_file(const DumpConfig& config, const ChunkName& name, const RecordStart& start) {
  if (!config.active) return false;
  if (name.time != 0 && !dumps_on(config, name.device)) return false;
  if (!name.is_record) return true;
  if (name.in_model && !config.steps.contains(name.step)) return false;
  const bool is_report =
      contains_folded(name.type, "opdebug") && contains_folded(name.op_name, "node_opdebug");
  if (is_report || config.overflow || config.watch) return true;
  if (!name.in_model && config.single_ops) return true;
  const OpDesc op = op_of(name, start);
  for (const ModelRule& rule : config.models) {
    if ((!name.in_model || is_of_model(rule, name.model)) && takes(rule, op, name)) return true;
  }
  return false;
}

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::ascend
