#include "src/tool/verify/findings.hpp"

#include <cstdio>
#include <vector>

#include "src/config/text/human_text.hpp"
#include "src/tool/cli/messages.hpp"

namespace opdump::tool {
namespace {

struct KindTexts {
  std::string_view name;     ///< in JSON
  std::string_view heading;  ///< for people
};

constexpr KindTexts kKinds[] = {
    {"missing", "not there, though the journal says it was written"},
    {"bad_file", "there, but not what was written"},
    {"lost", "lost"},
    {"reduced", "only a reduced form was kept"},
    {"gap", "lost, and only their numbers are known"},
    {"by_op", "the same losses, as they were counted for each operator"},
    {"driver", "the latest call of the device's driver that failed"},
    {"removed", "removed to make room"},
    {"overwritten", "overwritten by newer records, as the log went round"},
    {"never", "asked for and never captured, as the session itself says"},
    {"no_such", "asked for, and not in the models as their cards have them or RUN.json does"},
    {"absent",
     "never captured: the runtime did not offer it, it has another name there, or its model did not run"},
    {"chunk", "chunks of the runtime's that were faulty"},
    {"journal", "the journal cannot be trusted"},
    {"not_final", "not finalized"},
    {"no_journal", "no journal"},
    {"sealed", "sealed"},
    {"unlisted", "in no journal"},
    {"part", "not finished"},
    {"unsynced", "written, and perhaps not on the disk: it could not be synced"},
    {"unreceived", "never arrived over the wire"},
    {"damage", "lost with bytes of the image"},
    {"some_steps", "captured at some of the model's steps only, as operators are that run under a condition"},
    {"provenance", "what the dumps come from"},
    {"clock", "the clock was set while it was dumped"},
    {"rotated", "older dumps, removed to make room"},
    {"fired", "triggers that have fired"},
    {"trigger", "all firings of the triggers"},
};
static_assert(std::size(kKinds) == static_cast<std::size_t>(FindingKind::kCount));

}  // namespace

Findings::Findings(JsonWriter* json) : json_(json) {
  if (json_ != nullptr) json_->open('{').key("findings").open('[');
}

void Findings::add(FindingKind kind, bool wrong, std::vector<std::string> row,
                   const std::vector<FindingField>& fields) {
  complete_ &= !wrong;
  if (json_ != nullptr) return print_json(kind, wrong, fields);
  if (!wrong) row.push_back("(nothing wrong by itself)");
  ++groups_[static_cast<std::size_t>(kind)].findings;
  add_row(kind, std::move(row));
}

void Findings::add_summed(FindingKind kind, const std::vector<FindingField>& fields, std::uint64_t count) {
  complete_ = false;
  if (json_ != nullptr) return print_json(kind, true, fields);
  groups_[static_cast<std::size_t>(kind)].findings += count;
}

void Findings::add_never(std::vector<std::string> row, const std::vector<FindingField>& fields,
                         FindingKind kind) {
  ++never_;
  add_note(kind, std::move(row), fields);
}

void Findings::add_note(FindingKind kind, std::vector<std::string> row,
                        const std::vector<FindingField>& fields) {
  if (json_ != nullptr) return print_json(kind, false, fields);
  ++groups_[static_cast<std::size_t>(kind)].findings;
  add_row(kind, std::move(row));
}

void Findings::add_overwritten(const std::vector<FindingField>& fields, std::uint64_t count) {
  overwritten_ = true;
  if (json_ != nullptr) return print_json(FindingKind::overwritten, true, fields);
  groups_[static_cast<std::size_t>(FindingKind::overwritten)].findings += count;
}

void Findings::add_row(FindingKind kind, std::vector<std::string> row) {
  if (json_ != nullptr) return;
  FindingGroup& group = groups_[static_cast<std::size_t>(kind)];
  ++group.lines;
  if (group.rows.size() >= kMostRows) return;
  for (std::string& cell : row) cell = printable(cell);
  group.rows.push_back(std::move(row));
}

void Findings::print_json(FindingKind kind, bool wrong, const std::vector<FindingField>& fields) {
  any_ = true;
  json_->line(2).open('{').key("kind").text(kKinds[static_cast<std::size_t>(kind)].name);
  json_->key("wrong").flag(wrong);
  for (const FindingField& field : fields) {
    json_->key(field.name);
    field.is_number ? json_->number(field.number) : json_->text(field.text);
  }
  json_->close('}');
  std::fputs(json_->take().c_str(), stdout);
}

std::string_view Findings::verdict() const {
  const bool never = has_never();
  if (!complete_) return "not complete";
  if (overwritten_) {
    return never ? "complete but for the oldest records, which newer ones have overwritten; and some of what "
                   "was asked for was never captured"
                 : "complete but for the oldest records, which newer ones have overwritten";
  }
  return never ? "complete, but some of what was asked for was never captured" : "complete";
}

std::vector<FindingGroup> Findings::groups() const {
  std::vector<FindingGroup> there;
  for (std::size_t i = 0; i < groups_.size(); ++i) {
    if (groups_[i].lines == 0) continue;
    there.push_back(groups_[i]);
    there.back().heading = kKinds[i].heading;
  }
  return there;
}

void Findings::print() {
  if (json_ != nullptr) {
    if (any_) json_->line();
    json_->close(']');
    return;
  }
  std::puts(std::string(verdict()).c_str());
  for (std::size_t i = 0; i < groups_.size(); ++i) {
    FindingGroup& group = groups_[i];
    if (group.lines == 0) continue;
    std::printf("\n%s (%llu)\n", std::string(kKinds[i].heading).c_str(),
                static_cast<unsigned long long>(group.findings));
    Table table("  ", "llll");
    for (std::vector<std::string>& row : group.rows) table.add(std::move(row));
    table.print();
    if (group.lines > group.rows.size()) {
      std::printf("  and %llu more such lines; '--json' gives all\n",
                  static_cast<unsigned long long>(group.lines - group.rows.size()));
    }
  }
  std::puts("");
}

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
    const std::string numbers = range_text("number", group.first, group.last);
    findings.add_row(
        kind, {op, model, group.in_model ? group.steps.text() : std::string(),
               count_text(group.count, "record") + std::string(verb_of(kind)) + ": " + causes_text(causes) +
                   " (recorder " + std::to_string(recorder) + ", " + numbers + ")"});
  }
}

}  // namespace opdump::tool
