#include "src/tool/verify/never_lines.hpp"

#include <algorithm>

#include "opdump/impl/drain/journal.hpp"

namespace opdump::tool {
namespace {

/// Stands for the model's id, which paths of MindSpore Lite do not tell.
constexpr std::uint64_t kLiteId = UINT64_MAX;

std::uint64_t id_of(const JournalPath& path) {
  return path.lite ? kLiteId : path.model_id;
}

}  // namespace

void NeverLines::see(std::uint64_t device, const JournalPath& path) {
  if (!path.in_model) return;
  const auto [at, is_new] = seen_.try_emplace({device, std::string(path.model), id_of(path)});
  Seen& seen = at->second;
  if (!seen.ops.contains(path.op)) seen.ops.emplace(path.op);
  if (is_new || seen.last_step != path.step) seen.steps.add(path.step);
  seen.last_step = path.step;
}

void NeverLines::add(std::uint64_t device, const std::string& journal, const NeverCaptured& what) {
  const auto known = [](std::string_view text) { return std::string(text == "_" ? "" : text); };
  const Line& line = lines_.emplace_back(Line{device, journal, what.cause, what.model_id, known(what.model),
                                              known(what.type), std::string(what.name), what.steps});
  if (what.cause == NeverCause::no_inputs || what.cause == NeverCause::no_outputs) {
    roles_.insert({{device, line.model, line.model_id}, op_of(line)});
    roles_.insert({{device, line.model, kLiteId}, lite_op_of(line)});
  }
}

bool NeverLines::wants_roles(std::uint64_t device, const JournalPath& path) const {
  return !roles_.empty() && path.in_model &&
         roles_.contains({{device, std::string(path.model), id_of(path)}, std::string(path.op)});
}

void NeverLines::see_roles(std::uint64_t device, const JournalPath& path, bool inputs, bool outputs) {
  Seen& seen = seen_[{device, std::string(path.model), id_of(path)}];
  if (inputs) seen.with_inputs.emplace(path.op);
  if (outputs) seen.with_outputs.emplace(path.op);
}

/// As paths have it; empty when the journal may have cut one of its names.
std::string NeverLines::op_of(const Line& line) {
  if (line.type.size() >= kMostNeverTextBytes || line.name.size() >= kMostNeverTextBytes) return {};
  return (line.type.empty() ? "_" : line.type) + '.' + sanitised(line.name);
}

/// As paths of MindSpore Lite have it, beside `op_of`.
std::string NeverLines::lite_op_of(const Line& line) {
  if (line.name.size() >= kMostNeverTextBytes) return {};
  std::string name = line.name.empty() ? "_" : line.name;
  std::replace(name.begin(), name.end(), '/', '.');
  return name;
}

NeverLines::Seen* NeverLines::seen_of(const Line& line) {
  if (line.model.size() >= kMostNeverTextBytes) return nullptr;
  auto found = seen_.find({line.device, line.model, line.model_id});
  if (found == seen_.end()) found = seen_.find({line.device, line.model, kLiteId});
  return found == seen_.end() ? nullptr : &found->second;
}

bool NeverLines::holds(const Names& names, const Line& line) {
  return names.contains(op_of(line)) || names.contains(lite_op_of(line));
}

bool NeverLines::is_there(const Line& line) {
  const Seen* const seen = seen_of(line);
  if (seen == nullptr) return false;
  switch (line.cause) {
    case NeverCause::not_dumped:
      return !seen->ops.empty();
    case NeverCause::not_run:
      return holds(seen->ops, line);
    case NeverCause::no_inputs:
      return holds(seen->with_inputs, line);
    case NeverCause::no_outputs:
      return holds(seen->with_outputs, line);
    default:
      return false;
  }
}

/// Those of the line at which the dump has nothing of the model.
StepRanges NeverLines::missing_steps(const Line& line) {
  StepRanges missing;
  std::uint64_t next = line.steps.first;
  if (Seen* const seen = line.cause == NeverCause::before_run ? nullptr : seen_of(line)) {
    for (const StepRange& range : seen->steps.merged()) {
      if (range.last < next) continue;
      if (range.first > line.steps.last) break;
      if (range.first > next) missing.add(next, range.first - 1);
      if (range.last >= line.steps.last) return missing;
      next = range.last + 1;
    }
  }
  missing.add(next, line.steps.last);
  return missing;
}

void NeverLines::tell(const Line& line, StepRanges* steps, const Closest& closest, Findings& findings) {
  const NeverKind& kind = kind_of(line.cause);
  std::vector<FindingField> fields = {{"journal", line.journal}, {"cause", std::string(kind.word)}};
  if (!line.model.empty()) fields.push_back({"model", line.model});
  if (!line.model.empty() && line.cause != NeverCause::no_model)
    fields.push_back({"model_id", {}, line.model_id, true});
  if (!line.type.empty()) fields.push_back({"type", line.type});
  if (!line.name.empty()) fields.push_back({"name", line.name});
  if (steps != nullptr) {
    fields.push_back({"first_step", {}, steps->merged().front().first, true});
    fields.push_back({"last_step", {}, steps->merged().back().last, true});
  }
  std::string op = line.type.empty() ? line.name : line.type + ' ' + line.name;
  if (op.empty() && line.model.empty()) op = kind.subject;
  std::string text(kind.text);
  if (line.cause == NeverCause::no_op) {
    const std::string near = closest(line.device, line.model, line.name);
    if (!near.empty()) {
      text += "; did you mean \"" + near + "\"?";
      fields.push_back({"closest", near});
    }
  }
  findings.add_never({op, line.model, steps != nullptr ? steps->text() : std::string(), text}, fields);
}

void NeverLines::tell(const Closest& closest, Findings& findings) {
  std::set<Line> told;
  for (const Line& line : lines_) {
    if (is_there(line) || !told.insert(line).second) continue;
    if (!has_steps(line.cause)) {
      tell(line, nullptr, closest, findings);
      continue;
    }
    StepRanges missing = missing_steps(line);
    for (const StepRange& range : missing.merged()) {
      StepRanges steps;
      steps.add(range.first, range.last);
      tell(line, &steps, closest, findings);
    }
  }
}

}  // namespace opdump::tool
