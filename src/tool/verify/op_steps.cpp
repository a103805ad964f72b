#include "src/tool/verify/op_steps.hpp"

#include <cstring>

#include "opdump/impl/record/part_interfaces.hpp"
#include "opdump/types/watch.hpp"

namespace opdump::tool {
namespace {

std::uint64_t count(StepRanges& steps) {
  std::uint64_t count = 0;
  for (const StepRange& range : steps.merged()) count += range.last - range.first + 1;
  return count;
}

/// Numbers stand at the end of a text.
void put_number(std::string& text, std::uint64_t number) {
  char bytes[sizeof number];
  std::memcpy(bytes, &number, sizeof number);
  text.append(bytes, sizeof bytes);
}

std::uint64_t number_in(std::string_view text, std::size_t from_end) {
  std::uint64_t number = 0;
  std::memcpy(&number, text.data() + text.size() - from_end * sizeof number, sizeof number);
  return number;
}

std::string_view name_of(std::string_view text) {
  return text.substr(0, text.size() - 2 * sizeof(std::uint64_t));
}

bool name_less(std::string_view a, std::string_view b) {
  return name_of(a) < name_of(b);
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
  if (op == model.ops.end()) {
    if (ops_ == kMostOps) spill();
    ++ops_;
    op = model.ops.emplace(path.op, StepRanges()).first;
  }
  op->second.add(path.step);
}

/// Moves the operators of all models to the temporary file: a text for each range of steps, which begins with
/// the journal, the model and the operator.
void OpSteps::spill() {
  if (spilled_ == nullptr) spilled_ = std::make_unique<SpilledSort>(name_less);
  std::string text;
  for (auto& [journal, models] : journals_) {
    for (auto& [key, model] : models) {
      for (auto& [op, steps] : model.ops) {
        for (const StepRange& range : steps.merged()) {
          text.assign(journal).append(1, '\0').append(key).append(1, '\0').append(op);
          put_number(text, range.first);
          put_number(text, range.last);
          // What does not fit is told by `tell`.
          static_cast<void>(spilled_->add(text));
        }
      }
      model.ops.clear();
    }
  }
  ops_ = 0;
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

/// The same order as without a temporary file: NUL comes before any other character.
void OpSteps::tell_spilled(Findings& findings) {
  spill();
  static_cast<void>(spilled_->finish());
  std::string last;
  StepRanges steps;
  const Model* model = nullptr;
  std::uint64_t all = 0;
  std::string journal;
  const auto tell_last = [&] {
    if (model != nullptr)
      add_finding(journal, *model, last.substr(last.rfind('\0') + 1), steps, all, findings);
  };
  SpilledSort::Reader reader(*spilled_);
  for (std::string_view text; reader.next(text);) {
    const std::string_view name = name_of(text);
    if (name != last) {
      tell_last();
      const std::size_t behind_model = name.rfind('\0');
      if (model == nullptr ||
          std::string_view(last).substr(0, last.rfind('\0')) != name.substr(0, behind_model)) {
        const std::size_t behind_journal = name.rfind('\0', behind_model - 1);
        journal = name.substr(0, behind_journal);
        Model& next =
            journals_[journal]
                     [std::string(name.substr(behind_journal + 1, behind_model - behind_journal - 1))];
        all = count(next.steps);
        model = &next;
      }
      last = name;
      steps = {};
    }
    steps.add(number_in(text, 2), number_in(text, 1));
  }
  tell_last();
  if (!spilled_->error().empty())
    findings.add(FindingKind::journal, true, {spilled_->error()}, {{"message", spilled_->error()}});
}

void OpSteps::tell(Findings& findings) {
  if (spilled_ != nullptr) return tell_spilled(findings);
  for (auto& [journal, models] : journals_) {
    for (auto& [key, model] : models) {
      const std::uint64_t all = count(model.steps);
      for (auto& [name, steps] : model.ops) add_finding(journal, model, name, steps, all, findings);
    }
  }
}

}  // namespace opdump::tool
