#include "src/tool/verify/op_steps.hpp"

#include <algorithm>
#include <string>

#include "opdump/impl/record/part_interfaces.hpp"
#include "opdump/types/watch.hpp"
#include "src/tool/read/dump/digest_file.hpp"
#include "src/tool/read/dump/record_name.hpp"

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

namespace {

/// The path of the record's file, if it had one; lies in `text`.
bool path_of_record(const DigestedOp& op, std::uint64_t device, std::uint64_t step, std::string& text,
                    JournalPath& path) {
  text = std::to_string(device) + '/';
  if (op.in_model)
    text += sanitised(op.model) + '/' + std::to_string(op.model_id) + '/' + std::to_string(step) + '/';
  text += sanitised(op.type) + '.' + sanitised(op.name) + '.' + std::to_string(op.task) + '.' +
          std::to_string(op.stream);
  return parse_journal_path(text, path);
}

}  // namespace

std::uint64_t read_digested(Bytes file, std::uint64_t device, bool may_be_cut,
                            const DigestListener& listener) {
  DigestedOps ops;
  DigestReader reader(file, ops);
  std::uint64_t count = 0;
  std::string text;
  for (DigestedRecord record; reader.next(record); ++count) {
    const DigestedOp& op = ops[record.op];
    DigestedPath found;
    if (!path_of_record(op, device, record.step, text, found.path)) continue;
    const auto has = [&op](bool outputs) {
      return std::any_of(op.tensors.begin(), op.tensors.end(),
                         [outputs](const DigestedTensor& tensor) { return tensor.is_output == outputs; });
    };
    found.has_inputs = has(false);
    found.has_outputs = has(true);
    listener.record(found);
  }
  if (!reader.error().empty()) listener.problem(reader.error());
  if (reader.cut_bytes() != 0 && !may_be_cut) listener.problem("its last piece is cut short");
  if (reader.nameless_bytes() != 0 && !may_be_cut)
    listener.problem("it has records of operators that it does not name");
  return count;
}

}  // namespace opdump::tool
