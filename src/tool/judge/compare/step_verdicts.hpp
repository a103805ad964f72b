#pragma once
#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "src/tool/judge/compare/op_verdicts.hpp"

namespace opdump::tool {

/// An operator of one step, with what its tensors say of it; not yet with a verdict.
struct StepOp {
  OpVerdict op;
  std::vector<std::size_t> results;  ///< those of its tensors that could be compared
  bool has_output = false;           ///< one of them is an output
  bool computes = false;             ///< an output of it holds numbers that a network computes with
};

/// Judges the operators of one step, in the order in which they ran, and gives them to `take`.
void judge_step(const std::vector<StepOp>& ops, const DumpSide& mine, const PairResults& results,
                const std::function<void(const OpVerdict& op)>& take);

}  // namespace opdump::tool
