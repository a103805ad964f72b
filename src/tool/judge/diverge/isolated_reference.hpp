#pragma once
#include <memory>

#include "src/tool/judge/diverge/op_reference.hpp"

namespace opdump::tool {

/// Computes each operator by `reference` in a process of its own: one in which that crashes cannot be
/// computed, and the signal is the reason. `reference` has no threads of its own between operators.
class IsolatedReference final : public OpReference {
 public:
  explicit IsolatedReference(std::unique_ptr<OpReference> reference) : reference_(std::move(reference)) {}

  std::string name() const override { return reference_->name(); }
  bool run(const ReplayOp& op, std::vector<ReplayTensor>& outputs, std::string& reason) override;

 private:
  const std::unique_ptr<OpReference> reference_;
};

}  // namespace opdump::tool
