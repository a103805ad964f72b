#include "src/tool/verify/loss_groups.hpp"

#include <vector>

#include "src/config/text/human_text.hpp"

namespace opdump::tool {
namespace {

constexpr std::string_view verb_of(FindingKind kind) {
  switch (kind) {
    case FindingKind::reduced:
      return " reduced";
    case FindingKind::removed:
      return " removed";
    default:
      return " lost";
  }
}

}  // namespace

void LossGroups::add(FindingKind kind, const std::string& journal, std::uint32_t recorder,
                     std::uint32_t sequence, std::string_view causes, const JournalPath* path,
                     Findings& findings) {
  const bool in_model = path != nullptr && path->in_model;
  const std::string op = path == nullptr ? "of an unknown operator" : std::string(path->op);
  std::string model = in_model ? std::string(path->model) : std::string();
  if (in_model && !path->lite) model += " (" + std::to_string(path->model_id) + ")";
  Group& group = groups_[{kind, model, op, recorder, std::string(causes)}];
  if (group.count++ == 0) group.first = sequence;
  group.last = sequence;
  group.in_model = in_model;
  if (in_model) group.steps.add(path->step);
  std::vector<FindingField> fields = {{"journal", journal},
                                      {"recorder", {}, recorder, true},
                                      {"sequence", {}, sequence, true},
                                      {"cause", std::string(causes)}};
  if (path != nullptr) fields.push_back({"op", op});
  if (in_model) {
    fields.push_back({"model", std::string(path->model)});
    if (!path->lite) fields.push_back({"model_id", {}, path->model_id, true});
    fields.push_back({"step", {}, path->step, true});
  }
  findings.add_summed(kind, fields, 1);
}

void LossGroups::tell(Findings& findings) {
  for (auto& [key, group] : groups_) {
    const auto& [kind, model, op, recorder, causes] = key;
    const std::string numbers = group.first == group.last ? "number " + std::to_string(group.first)
                                                          : "numbers " + std::to_string(group.first) +
                                                                " to " + std::to_string(group.last);
    findings.add_row(
        kind, {op, model, group.in_model ? group.steps.text() : std::string(),
               count_text(group.count, "record") + std::string(verb_of(kind)) + ": " + causes_text(causes) +
                   " (recorder " + std::to_string(recorder) + ", " + numbers + ")"});
  }
}

}  // namespace opdump::tool
