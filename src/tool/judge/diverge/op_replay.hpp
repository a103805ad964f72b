#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "src/tool/cli/options.hpp"
#include "src/tool/judge/compare/compare_side.hpp"
#include "src/tool/judge/diverge/op_limits.hpp"
#include "src/tool/judge/diverge/ort_reference.hpp"
#include "src/tool/judge/diverge/replay_model.hpp"

namespace opdump::tool {

enum class ReplayVerdict : std::uint8_t {
  agrees,        ///< its outputs are what its inputs make
  culprit,       ///< one is not
  not_replayed,  ///< it could not be recomputed
};

/// "agrees", ...
std::string_view to_string(ReplayVerdict verdict);

/// How far an output of the device is from the right one.
struct OutputError {
  OpClass op_class = OpClass::exact;
  std::uint64_t elements = 0;
  std::uint64_t over = 0;  ///< that do not keep their limit
  std::uint64_t off = 0;   ///< of a quantised tensor, that are not equal
  bool diverges = false;
  double worst = 0;         ///< the largest error in units of its limit; infinite where nothing is allowed
  double max_absolute = 0;  ///< the largest error
  double cosine = 1;
  double euclid = 0;     ///< the Euclidean distance by the length of the right one
  std::uint64_t at = 0;  ///< the worst element
  double device = 0;     ///< what it is
  double expected = 0;   ///< what it should be
  double limit = 0;      ///< how far it may be off
};

/// "3 of 64 elements are beyond the limit, the worst, at [0,2], 1.5 for 1.25 (may be 1e-06 off)".
std::string error_text(const OutputError& error, Shape dims);

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
