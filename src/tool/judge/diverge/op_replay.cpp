#include "src/tool/judge/diverge/op_replay.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

#include "src/tool/cli/progress.hpp"
#include "src/tool/judge/compare/aligned_pairing.hpp"
#include "src/tool/judge/diverge/dumped_op.hpp"
#include "src/tool/judge/diverge/save_failing.hpp"

namespace opdump::tool {
namespace {

using StepKey = std::pair<std::optional<std::uint32_t>, std::string>;  ///< boot and place

std::size_t first_tensor(const OperatorRun& run) {
  std::size_t first = SIZE_MAX;
  for (const auto& [role, tensor] : run.tensors) first = std::min(first, tensor);
  return first;
}

/// Those of all places, in the order in which they ran.
std::vector<OperatorRun> runs_of(const DumpSide& side, const ChosenSteps& steps) {
  std::vector<OperatorRun> runs;
  for (auto& [place, some] : operator_runs(side, nullptr)) {
    if (steps.takes(place)) std::move(some.begin(), some.end(), std::back_inserter(runs));
  }
  std::sort(runs.begin(), runs.end(),
            [](const OperatorRun& a, const OperatorRun& b) { return first_tensor(a) < first_tensor(b); });
  return runs;
}

class OpReplay {
 public:
  OpReplay(const ReplayTask& task, std::vector<std::string>& errors) : task_(task), errors_(errors) {}

  ReplayedOp replay(const OperatorRun& run, std::size_t number) {
    ReplayedOp result;
    result.file = run.file;
    const DumpFile& file = task_.side.files[run.file];
    StepOutputs& before = steps_[{file.boot, file.place}];
    const ReplayNode* const node = find_node(run);
    if (node == nullptr) {
      result.reason = task_.model.is_ambiguous(identity_of(file))
                          ? "ambiguous: the model has several operators of this name"
                          : "the model has no operator of this name";
      return result;
    }
    result.type = node->type;
    DumpedOp dumped;
    std::vector<ReplayTensor> expected;
    result.reason = node->problem;
    if (result.reason.empty() &&
        assemble(task_.side, run, *node, task_.model, before, dumped, result.reason) &&
        task_.reference.run(dumped.op, expected, result.reason) && measure_all(dumped, expected, result)) {
      judge(dumped, result);
      if (result.verdict == ReplayVerdict::culprit && !task_.failing_directory.empty())
        keep(dumped, expected, number, result);
    }
    for (const auto& [role, tensor] : run.tensors) {
      if (role.first && role.second < node->outputs.size()) before[node->outputs[role.second]] = tensor;
    }
    return result;
  }

 private:
  /// By the operator's name, or by that of the framework's operator in the record.
  const ReplayNode* find_node(const OperatorRun& run) const {
    const DumpFile& file = task_.side.files[run.file];
    if (const ReplayNode* const node = task_.model.node(identity_of(file))) return node;
    for (const auto& [role, tensor] : run.tensors) {
      const std::string original = task_.side.tensors[tensor].original_op;
      if (role.first && !original.empty())
        return task_.model.node({.name = sanitised(original), .type = file.type});
    }
    return nullptr;
  }

  bool measure_all(const DumpedOp& dumped, const std::vector<ReplayTensor>& expected,
                   ReplayedOp& result) const {
    for (std::size_t i = 0; i < dumped.outputs.size(); ++i) {
      if (!dumped.places[i]) continue;
      const ReplayTensor& device = dumped.outputs[i];
      ReplayedOutput output = {
          *dumped.places[i], task_.side.tensors[*dumped.places[i]].index, device.dims, {}};
      const OutputLimit limit =
          limit_of(dumped.op, i, device.dtype, elements_of(device.dims).value_or(0), task_.limits);
      if (i >= expected.size() || !measure(device, expected[i], limit, output.error, result.reason)) {
        result.outputs.clear();
        return false;
      }
      result.outputs.push_back(std::move(output));
    }
    return true;
  }

  static void judge(const DumpedOp& dumped, ReplayedOp& result) {
    result.unlike_constant = dumped.unlike_constant;
    const bool wrong = std::any_of(result.outputs.begin(), result.outputs.end(),
                                   [](const ReplayedOutput& output) { return output.error.diverges; });
    result.verdict =
        wrong || !result.unlike_constant.empty() ? ReplayVerdict::culprit : ReplayVerdict::agrees;
  }

  void keep(const DumpedOp& dumped, const std::vector<ReplayTensor>& expected, std::size_t number,
            const ReplayedOp& result) {
    std::string said, reason;
    for (const ReplayedOutput& output : result.outputs) {
      if (output.error.diverges)
        said +=
            "output " + std::to_string(output.index) + ": " + error_text(output.error, output.dims) + '\n';
    }
    if (!result.unlike_constant.empty()) said += result.unlike_constant + " is not that of the model\n";
    const FailingOp failing = {.op = dumped.op,
                               .folder = failing_folder(number, task_.side.files[result.file].op),
                               .expected = expected,
                               .device = dumped.outputs,
                               .reference = task_.reference.name(),
                               .said = said};
    if (!save_failing(task_.failing_directory, failing, reason)) errors_.push_back(reason);
  }

  const ReplayTask& task_;
  std::vector<std::string>& errors_;
  std::map<StepKey, StepOutputs> steps_;
};

}  // namespace

std::string_view to_string(ReplayVerdict verdict) {
  constexpr std::string_view kWords[] = {"agrees", "culprit", "not replayed"};
  return kWords[static_cast<std::size_t>(verdict)];
}

std::vector<ReplayedOp> replay_ops(const ReplayTask& task, std::vector<std::string>& errors) {
  const std::vector<OperatorRun> runs = runs_of(task.side, task.steps);
  const auto bytes_of = [&](const OperatorRun& run) {
    std::uint64_t bytes = 0;
    for (const auto& [role, tensor] : run.tensors) bytes += task.side.tensors[tensor].data_bytes;
    return bytes;
  };
  std::uint64_t total = 0;
  for (const OperatorRun& run : runs) total += bytes_of(run);
  Progress progress(total);
  OpReplay replay(task, errors);
  std::vector<ReplayedOp> results;
  for (const OperatorRun& run : runs) {
    if (interrupted()) break;
    results.push_back(replay.replay(run, results.size()));
    progress.add(bytes_of(run));
  }
  return results;
}

}  // namespace opdump::tool
