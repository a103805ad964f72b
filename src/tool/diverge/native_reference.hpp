#pragma once
#include <string>
#include <string_view>

#include "src/tool/diverge/op_reference.hpp"

namespace opdump::tool {

/// Computes the common operators of ONNX, plainly and in float64. Outputs of floats have float64.
class NativeReference final : public OpReference {
 public:
  std::string name() const override { return "native"; }
  bool run(const ReplayOp& op, std::vector<ReplayTensor>& outputs, std::string& reason) override;

  /// Whether it computes ONNX's operator of this type, and the operator has no attributes.
  static bool knows_without_attributes(std::string_view type);
};

}  // namespace opdump::tool
