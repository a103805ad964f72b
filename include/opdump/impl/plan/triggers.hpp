#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "opdump/impl/plan/privacy.hpp"
#include "opdump/types/model.hpp"
#include "opdump/types/privacy.hpp"
#include "opdump/types/trigger.hpp"

/// Which operators the triggers of a config look at.

namespace opdump {
inline namespace OPDUMP_NAMESPACE {

/// Whether `rule`, which holds for the operator's model, names `op`; a rule without an operator names none.
constexpr bool names_op(const TriggerRule& rule, const OpDesc& op) {
  return !rule.op().empty() &&
         has_name(op, [&rule](std::string_view name) { return takes_name(rule.op(), name); });
}

/// Whether `rule` names a tensor of operator `op` of `model`, as far as the tensors are told.
constexpr bool has_tensor(const TriggerRule& rule, const ModelDesc& model, std::size_t op) {
  if (!looks_at_tensor(rule.cause()) || model.tensors.size() != model.ops.size()) return true;
  const auto& tensors = model.tensors[op];
  return rule.index() < (rule.is_input() ? tensors.inputs.size() : tensors.outputs.size());
}

/// What the privacy of a config lets a journal tell of a firing.
struct ToldOfTrigger {
  bool value = true;
  bool name = true;  ///< of the operator
};

/// For `rule` at operator `op` of `model`.
constexpr ToldOfTrigger told_of(const TriggerRule& rule, std::span<const PrivacyRule> privacy,
                                const ModelDesc& model, const OpDesc& op) {
  if (!looks_at_tensor(rule.cause())) return {};
  const PrivacyRule* const kept = rule_of(privacy, &model, op, !rule.is_input(), rule.index());
  if (kept == nullptr) return {};
  // Of a tensor that is cut, the look sees more than is kept.
  const KeptAs most = rule.cause() == TriggerCause::change ? KeptAs::digest : KeptAs::stats;
  return {.value = kept->kept() <= most && !cuts(*kept), .name = kept->kept() < KeptAs::nothing};
}

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump
