#pragma once
#include <string>
#include <vector>

#include "src/tool/judge/diverge/replay_op.hpp"

namespace opdump::tool {

/// Computes operators as they should be.
class OpReference {
 public:
  virtual ~OpReference() = default;

  /// What computes, for people: "onnxruntime 1.30.0".
  virtual std::string name() const = 0;

  /// Fills `outputs`, one for each of `op.wanted` and in their order; one that the model leaves out may stay
  /// empty. An output has the operator's dtype; one of floats may have float64 instead. False where the
  /// operator cannot be computed: `reason` then says why in a few words.
  virtual bool run(const ReplayOp& op, std::vector<ReplayTensor>& outputs, std::string& reason) = 0;
};

}  // namespace opdump::tool
