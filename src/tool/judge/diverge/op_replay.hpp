#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "src/tool/cli/options.hpp"
#include "src/tool/judge/compare/compare_side.hpp"
#include "src/tool/judge/diverge/op_limits.hpp"
#include "src/tool/judge/diverge/ort_reference.hpp"
#include "src/tool/judge/diverge/output_error.hpp"
#include "src/tool/judge/diverge/replay_model.hpp"

namespace opdump::tool {

enum class ReplayVerdict : std::uint8_t {
  agrees,        ///< its outputs are what its inputs make
  culprit,       ///< one is not
  not_replayed,  ///< it could not be recomputed
};

/// "agrees", ...
std::string_view to_string(ReplayVerdict verdict);

/// An output that was recomputed.
struct ReplayedOutput {
  std::size_t tensor = 0;  ///< in DumpSide::tensors
  std::uint32_t index = 0;
  std::vector<Dim> dims;
  OutputError error;
};

/// What became of one operator at one step.
struct ReplayedOp {
  ReplayVerdict verdict = ReplayVerdict::not_replayed;
  std::size_t file = 0;         ///< of its record, in DumpSide::files
  std::string type;             ///< of ONNX; empty: the model has no such operator
  std::string reason;           ///< why it was not recomputed
  std::string unlike_constant;  ///< an input that is not the constant of the model
  std::vector<ReplayedOutput> outputs;
};

/// What to recompute, and by what.
struct ReplayTask {
  const DumpSide& side;
  const ReplayModel& model;
  OpReference& reference;
  const OpLimits& limits;
  const ChosenSteps& steps;
  std::string failing_directory;  ///< where operators that fail are kept; empty: nowhere
};

/// Recomputes all operators of a dump in the order in which they ran. `errors` gets what could not be
/// written. Shows its progress on a terminal. Ends early, with the results so far, when interrupted.
std::vector<ReplayedOp> replay_ops(const ReplayTask& task, std::vector<std::string>& errors);

}  // namespace opdump::tool
