#include "src/tool/compare/op_verdicts.hpp"

#include <map>
#include <set>
#include <tuple>

namespace opdump::tool {
namespace {

/// A record is an operator at one step; so are arrays of one operator that tell the same task and time.
using OpKey = std::tuple<std::optional<std::uint32_t>, std::string, std::string, std::uint64_t, std::uint64_t,
                         std::optional<std::size_t>>;
using Step = std::pair<std::optional<std::uint32_t>, std::string>;

OpKey key_of(const DumpFile& file, std::size_t number) {
  return {file.boot,    file.place,
          file.op,      file.task.value_or(0),
          file.unix_us, file.is_record ? std::optional<std::size_t>(number) : std::nullopt};
}

Verdict verdict_of(const OpVerdict& op, bool has_output) {
  if (op.bad_output) {
    if (op.bad_input) return Verdict::victim;
    return op.inputs != 0 ? Verdict::culprit : Verdict::diverges;
  }
  return has_output ? Verdict::agrees : Verdict::unpaired;
}

}  // namespace

std::string_view to_string(Verdict verdict) {
  constexpr std::string_view kWords[] = {"agrees", "culprit", "victim", "diverges", "unpaired"};
  return kWords[static_cast<std::size_t>(verdict)];
}

std::vector<OpVerdict> judge_ops(const DumpSide& mine, const std::vector<PairResult>& results,
                                 const std::function<bool(const PairResult&)>& diverges) {
  std::vector<OpVerdict> ops;
  std::vector<bool> has_output;
  std::map<OpKey, std::size_t> places;
  for (std::size_t i = 0; i < results.size(); ++i) {
    const PairResult& result = results[i];
    if (!result.pair.mine) continue;
    const DumpTensor& tensor = mine.tensors[*result.pair.mine];
    const auto [place, added] = places.try_emplace(key_of(mine.files[tensor.file], tensor.file), ops.size());
    if (added) {
      ops.push_back({.file = tensor.file});
      has_output.push_back(false);
    }
    OpVerdict& op = ops[place->second];
    if (!result.comparison) {
      if (tensor.is_output && op.problem.empty()) op.problem = result.problem;
      continue;
    }
    if (tensor.is_output) {
      has_output[place->second] = true;
      if (!op.bad_output && diverges(result)) op.bad_output = i;
    } else {
      ++op.inputs;
      if (!op.bad_input && diverges(result)) op.bad_input = i;
    }
  }
  std::set<Step> bad_steps;
  for (std::size_t i = 0; i < ops.size(); ++i) {
    OpVerdict& op = ops[i];
    const DumpFile& file = mine.files[op.file];
    op.verdict = verdict_of(op, has_output[i]);
    op.fed = bad_steps.contains({file.boot, file.place});
    if (op.bad_output) bad_steps.emplace(file.boot, file.place);
    if (op.verdict == Verdict::unpaired && op.problem.empty()) op.problem = "the dump has no output of it";
    if (op.verdict != Verdict::unpaired) op.problem.clear();
  }
  return ops;
}

}  // namespace opdump::tool
