#include "src/tool/verify/op_steps.hpp"

#include "opdump/impl/record/part_interfaces.hpp"
#include "opdump/types/watch.hpp"

namespace opdump::tool {
namespace {

std::uint64_t count(StepRanges& steps) {
  std::uint64_t count = 0;
  for (const StepRange& range : steps.merged()) count += range.last - range.first + 1;
  return count;
}

}  // namespace

void OpSteps::see(const std::string& journal, const JournalPath& path) {
  if (!path.in_model) return;
  Model& model = journals_[journal][std::string(path.model) + '/' + std::to_string(path.model_id)];
  model.directory = path.model;
  model.id = path.model_id;
  model.by_chance |= path.suffix == RecordFormat::kReportSuffix || path.op.starts_with("Opdebug.") ||
                     path.op.find(WatchState::kBetween) != path.op.npos;
  if (model.by_chance) return;
  model.steps.add(path.step);
  auto op = model.ops.find(path.op);
  if (op == model.ops.end()) op = model.ops.emplace(path.op, StepRanges()).first;
  op->second.add(path.step);
}

void OpSteps::add_finding(const std::string& journal, const Model& model, const std::string& op,
                          StepRanges& steps, std::uint64_t all, Findings& findings) const {
  const std::uint64_t some = count(steps);
  if (model.by_chance || some == all) return;
  findings.add_note(FindingKind::some_steps,
                    {op, model.directory,
                     "at " + std::to_string(some) + " of " + std::to_string(all) + " steps", steps.text()},
                    {{"journal", journal},
                     {"model", model.directory},
                     {"model_id", {}, model.id, true},
                     {"op", op},
                     {"steps", {}, some, true},
                     {"of_steps", {}, all, true}});
}

void OpSteps::tell(Findings& findings) {
  for (auto& [journal, models] : journals_) {
    for (auto& [key, model] : models) {
      const std::uint64_t all = count(model.steps);
      for (auto& [name, steps] : model.ops) add_finding(journal, model, name, steps, all, findings);
    }
  }
}

}  // namespace opdump::tool
