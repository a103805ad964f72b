#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "opdump/base/text.hpp"
#include "opdump/types/account.hpp"
#include "opdump/types/config.hpp"
#include "opdump/types/model.hpp"
#include "opdump/types/name_pattern.hpp"
#include "opdump/types/plan.hpp"
#include "opdump/types/privacy.hpp"

/// Which operators and tensors the rules of a config's privacy name.

namespace opdump {
inline namespace OPDUMP_NAMESPACE {

/// Whether one of `globs`, or that there is none, takes `name` as it is or as names of files have it.
constexpr bool takes_name(std::span<const NamePattern> globs, std::string_view name) {
  for (const NamePattern& glob : globs) {
    if (takes_glob(glob.text, name, [](char c) { return c; })) return true;
    const auto in_files = [](char c) { return kSanitised[static_cast<unsigned char>(c)]; };
    if (takes_glob(glob.text, name, in_files)) return true;
  }
  return globs.empty();
}

/// Whether `rule`, of the privacy or a trigger, holds for `model`; null: for operators outside models.
template <class Rule>
constexpr bool holds_for(const Rule& rule, const ModelDesc* model) {
  if (rule.model().empty()) return true;
  return model != nullptr && (takes_name(rule.model(), model->name) ||
                              (!model->graph_name.empty() && takes_name(rule.model(), model->graph_name)));
}

/// Whether `rule`, which holds for the operator's model, names `op`.
constexpr bool names_op(const PrivacyRule& rule, const OpDesc& op) {
  return takes_name(rule.type(), op.type) &&
         has_name(op, [&rule](std::string_view name) { return takes_name(rule.op(), name); });
}

/// Whether `rule` names a tensor of operator `op` of `model`, as far as the tensors are told.
constexpr bool meets(const PrivacyRule& rule, const ModelDesc& model, std::size_t op) {
  if (!names_op(rule, model.ops[op])) return false;
  if (model.tensors.size() != model.ops.size()) return true;
  bool any = false;
  model.tensors[op].for_each_tensor([&](const TensorView&, bool is_output, std::uint32_t index) {
    any = any || names_tensor(rule, is_output, index);
  });
  return any;
}

constexpr bool meets(const PrivacyRule& rule, const ModelDesc& model) {
  for (std::size_t op = 0; op < model.ops.size(); ++op) {
    if (meets(rule, model, op)) return true;
  }
  return false;
}

/// The first of `rules` that holds for `model` (null: for operators outside models) and names that tensor of
/// `op`; null: none does.
constexpr const PrivacyRule* rule_of(std::span<const PrivacyRule> rules, const ModelDesc* model,
                                     const OpDesc& op, bool is_output, std::uint32_t index) {
  for (const PrivacyRule& rule : rules) {
    if (names_tensor(rule, is_output, index) && holds_for(rule, model) && names_op(rule, op)) return &rule;
  }
  return nullptr;
}

/// What people know a rule by: the first pattern that it has.
constexpr std::string_view text_of(const PrivacyRule& rule) {
  for (const auto patterns : {rule.op(), rule.type(), rule.model()}) {
    if (!patterns.empty()) return patterns[0].text;
  }
  return {};
}

/// Calls `use(NeverCaptured)` for each of `rules` that holds for `model` and names none of its tensors; and
/// once if every rule is for other models.
template <class Use>
void for_each_unmet_rule(std::span<const PrivacyRule> rules, const ModelDesc& model,
                         std::string_view directory, Use use) {
  NeverCaptured what = {.cause = NeverCause::no_private, .model_id = model.id, .model = directory};
  bool any = rules.empty();
  for (const PrivacyRule& rule : rules) {
    if (!holds_for(rule, &model)) continue;
    any = true;
    what.name = text_of(rule);
    if (!meets(rule, model)) use(what);
  }
  what.cause = NeverCause::no_private_model;
  what.name = {};
  if (!any) use(what);
}

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump
