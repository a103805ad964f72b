#pragma once
#include <deque>
#include <span>
#include <vector>

#include "src/tool/read/run/run_file.hpp"

namespace opdump::tool {

/// Described models in the form in which a runtime describes its own. Refers to the models.
class DescribedModels {
 public:
  explicit DescribedModels(const std::vector<RunModel>& models) {
    for (const RunModel& model : models) add(model, parts_.emplace_back());
  }
  DescribedModels(const DescribedModels&) = delete;
  DescribedModels& operator=(const DescribedModels&) = delete;

  std::span<const ModelDesc> all() const { return models_; }

 private:
  struct Parts {
    std::vector<OpDesc> ops;
    std::vector<TensorView> views;
    std::vector<CapturedTensors> tensors;
  };

  void add(const RunModel& model, Parts& parts) {
    std::size_t count = 0;
    for (const RunOp& op : model.ops) count += op.inputs.size() + op.outputs.size();
    parts.views.reserve(count);  // spans refer to them
    const auto views_of = [&parts](const std::vector<RunTensor>& tensors) {
      const std::size_t first = parts.views.size();
      for (const RunTensor& tensor : tensors) parts.views.push_back(view_of(tensor));
      return std::span<const TensorView>(parts.views).subspan(first);
    };
    parts.ops.reserve(model.ops.size());
    parts.tensors.reserve(model.ops.size());
    for (const RunOp& op : model.ops) {
      parts.ops.push_back(op.desc);
      CapturedTensors& tensors = parts.tensors.emplace_back();
      tensors.inputs = views_of(op.inputs);
      tensors.outputs = views_of(op.outputs);
    }
    models_.push_back({model.name, model.graph_name, model.id, parts.ops, parts.tensors});
  }

  std::deque<Parts> parts_;
  std::vector<ModelDesc> models_;
};

}  // namespace opdump::tool
