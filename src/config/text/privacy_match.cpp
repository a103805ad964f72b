#include "src/config/text/privacy_match.hpp"

#include <string_view>

#include "opdump/impl/plan/privacy.hpp"
#include "src/config/refusal.hpp"
#include "src/config/text/privacy_text.hpp"

namespace opdump::tool {
namespace {

constexpr std::size_t kMostHints = 10;

/// Of one operator, each tensor of which something is left out, as far as its tensors are told.
std::string kept_of_op(const DumpConfig& config, const ModelDesc& model, std::size_t op) {
  std::string text;
  const auto add = [&](bool is_output, std::uint32_t index) {
    const PrivacyRule* const rule = rule_of(privacy_rules(config), &model, model.ops[op], is_output, index);
    if (rule == nullptr || keeps_whole(*rule)) return;
    text += std::string(text.empty() ? "" : ", ") + (is_output ? "output " : "input ") +
            std::to_string(index) + ": " + kept_text(*rule);
  };
  if (model.tensors.size() == model.ops.size()) {
    model.tensors[op].for_each_tensor(
        [&](const TensorView&, bool is_output, std::uint32_t index) { add(is_output, index); });
    return text;
  }
  for (const PrivacyRule& rule : privacy_rules(config)) {
    if (keeps_whole(rule) || !holds_for(rule, &model) || !names_op(rule, model.ops[op])) continue;
    text += (text.empty() ? "" : ", ") + privacy_text(rule);
  }
  return text;
}

std::string closest_name(const PrivacyRule& rule, const ModelDesc& model) {
  if (rule.op().empty()) return {};
  std::vector<std::string_view> names;
  for (const OpDesc& op : model.ops) names.push_back(op.name);
  return std::string(config::closest(rule.op()[0].text, names));
}

}  // namespace

void match_privacy(const DumpConfig& config, const ModelDesc& model, std::span<const std::uint8_t> bits,
                   ModelMatch& match, std::vector<Miss>& misses) {
  if (privacy_rules(config).empty()) return;
  for (std::size_t op = 0; op < bits.size(); ++op) {
    const std::string kept = bits[op] == 0 ? std::string() : kept_of_op(config, model, op);
    if (!kept.empty()) match.kept.push_back(config::in_quotes(model.ops[op].name) + ' ' + kept);
  }
  bool any = false;
  for (const PrivacyRule& rule : privacy_rules(config)) {
    if (!holds_for(rule, &model)) continue;
    any = true;
    if (meets(rule, model)) continue;
    misses.push_back(
        {"the rule of the privacy for " + privacy_text(rule) + " in model " + config::in_quotes(model.name),
         misses.size() < kMostHints ? closest_name(rule, model) : std::string()});
    match.refused = match.refused || !config.privacy_tells;
  }
  match.refused = match.refused || (!any && !config.privacy_tells);
}

}  // namespace opdump::tool
