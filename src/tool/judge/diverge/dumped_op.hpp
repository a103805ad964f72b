#pragma once
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "src/tool/judge/compare/compare_side.hpp"
#include "src/tool/judge/compare/operator_runs.hpp"
#include "src/tool/judge/diverge/replay_model.hpp"

namespace opdump::tool {

/// The outputs of a step so far, by the names that the model gives them.
using StepOutputs = std::map<std::string, std::size_t>;

/// Reads the elements of a dumped tensor in plain order. On false `reason` says why they cannot be had.
bool read_dumped(const DumpSide& side, const DumpTensor& tensor, ReplayTensor& to, std::string& reason);

/// An operator of the model together with what it got and made on the device.
struct DumpedOp {
  ReplayOp op;
  std::vector<ReplayTensor> outputs;               ///< of `op.wanted`; empty where they were not dumped
  std::vector<std::optional<std::size_t>> places;  ///< of those in DumpSide::tensors
  std::string unlike_constant;  ///< an input that is not the constant of the model; empty: there is none
};

/// Puts it together. Inputs come from its record; where that lacks them from the model's constants and from
/// outputs of operators before it, at the same step. On false `reason` says what is missing.
bool assemble(const DumpSide& side, const OperatorRun& run, const ReplayNode& node, const ReplayModel& model,
              const StepOutputs& before, DumpedOp& to, std::string& reason);

}  // namespace opdump::tool
