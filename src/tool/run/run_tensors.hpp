#pragma once
#include <span>
#include <vector>

#include "src/tool/run/run_file.hpp"

namespace opdump::tool {

/// The tensors of described operators, in the form that a ModelDesc takes. Refers to the operators.
class RunTensors {
 public:
  explicit RunTensors(const std::vector<RunOp>& ops) {
    std::size_t count = 0;
    for (const RunOp& op : ops) count += op.inputs.size() + op.outputs.size();
    views_.reserve(count);  // spans refer to them
    for (const RunOp& op : ops) of_ops_.push_back({add(op.inputs), add(op.outputs)});
  }
  RunTensors(const RunTensors&) = delete;
  RunTensors& operator=(const RunTensors&) = delete;

  std::span<const CapturedTensors> of_ops() const { return of_ops_; }

 private:
  std::span<const TensorView> add(const std::vector<RunTensor>& tensors) {
    const std::size_t first = views_.size();
    for (const RunTensor& tensor : tensors) views_.push_back(view_of(tensor));
    return std::span(views_).subspan(first);
  }

  std::vector<TensorView> views_;
  std::vector<CapturedTensors> of_ops_;
};

}  // namespace opdump::tool
