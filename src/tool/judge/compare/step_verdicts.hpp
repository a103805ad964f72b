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

void write_fields(FieldWriter& to, const StepOp& op);
void read_fields(FieldReader& from, StepOp& op);

/// Judges the operators of one step, in the order in which they ran, and gives them to `take`. Takes a byte
/// of memory for each, and some 100 for each that reads an input by another scale than it was written by.
void judge_step(const SpilledList<StepOp>& ops, const DumpSide& mine, const PairResults& results,
                const std::function<void(const OpVerdict& op)>& take);

}  // namespace opdump::tool
