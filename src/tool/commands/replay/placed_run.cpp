#include "src/tool/commands/replay/placed_run.hpp"

#include <algorithm>

#include "opdump/session.hpp"
#include "src/tool/cli/progress.hpp"

namespace opdump::tool {
namespace {

std::vector<OpDesc> descs_in(const std::vector<RunOp>& ops) {
  std::vector<OpDesc> descs;
  for (const RunOp& op : ops) descs.push_back(op.desc);
  return descs;
}

}  // namespace

TensorView placed_view(const RunTensor& tensor, MadeMemory& memory) {
  TensorView view = view_of(tensor);
  view.address = memory.place(tensor);
  return view;
}

PlacedOp::PlacedOp(const RunOp& op, MadeMemory& memory) {
  for (const RunTensor& tensor : op.inputs) {
    inputs.push_back(placed_view(tensor, memory));
    input_bytes += tensor.bytes;
  }
  for (const RunTensor& tensor : op.outputs) {
    outputs.push_back(placed_view(tensor, memory));
    output_bytes += tensor.bytes;
  }
}

std::vector<PlacedOp> placed(const std::vector<RunOp>& ops, MadeMemory& memory) {
  Progress progress(ops.size(), "placing operators");
  std::vector<PlacedOp> out;
  out.reserve(ops.size());
  for (const RunOp& op : ops) {
    out.emplace_back(op, memory);
    progress.add();
  }
  return out;
}

LoadedModel::LoadedModel(const RunModel& model, MadeMemory& memory)
    : run(model), descs(descs_in(model.ops)), ops(placed(model.ops, memory)), bits(model.ops.size()) {
  for (const PlacedOp& op : ops) tensors.push_back({op.inputs, op.outputs});
  desc = {model.name, model.graph_name, model.id, descs, tensors};
}

std::size_t watch_words(const RunFile& run) {
  std::size_t bytes = 8;
  for (const RunModel& model : run.models) {
    std::size_t longest = 0;
    for (const RunOp& op : model.ops) longest = std::max(longest, op.desc.name.size());
    bytes += watch_bytes(model.ops.size(), 2 * longest);
  }
  return bytes / 8;
}

std::size_t scratch_bytes(const RunFile& run, const DumpConfig& config) {
  std::size_t model_name = config.net_name.size();
  std::size_t type = 0;
  std::size_t name = 0;
  const auto look = [&](const std::vector<RunOp>& ops) {
    for (const RunOp& op : ops) {
      type = std::max(type, op.desc.type.size());
      name = std::max(name, op.desc.name.size());
    }
  };
  for (const RunModel& model : run.models) {
    model_name = std::max({model_name, model.name.size(), model.graph_name.size()});
    look(model.ops);
  }
  look(run.single_ops);
  if (config.watch) name = 2 * name + WatchState::kBetween.size();
  return drain_scratch_bytes(model_name, type, name);
}

}  // namespace opdump::tool
