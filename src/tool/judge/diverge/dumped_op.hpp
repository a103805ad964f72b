#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "src/tool/judge/compare/aligned_pairing.hpp"
#include "src/tool/judge/compare/compare_side.hpp"
#include "src/tool/judge/diverge/replay_model.hpp"

namespace opdump::tool {

/// Elements that a tensor may have: more are refused.
inline constexpr std::uint64_t kMostReplayElements = std::uint64_t{1} << 28;

/// Whether they are integers of 8 bits or more, or booleans.
bool is_integer_dtype(DType dtype);

/// The product of the dims; nothing where it is more than kMostReplayElements.
std::optional<std::size_t> elements_of(Shape dims);

/// All elements as float64; nothing where they are no numbers.
std::optional<std::vector<double>> reals_of(const ReplayTensor& tensor);

/// Of the finite ones; 0 where there are none.
double mean_square_root(const std::vector<double>& values);

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
