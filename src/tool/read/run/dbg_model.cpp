#include "src/tool/read/run/dbg_model.hpp"

#include <limits>
#include <utility>

namespace opdump::tool {
namespace {

/// Whether the elements take no more than the bytes that the tensor has.
bool fits(const TensorView& view) {
  if (view.dtype == DType::undefined || info(view.dtype).bits == 0) return false;
  const Result<std::uint64_t> packed = packed_bytes(view.dtype, view.shape);
  return packed.ok() && packed.value() <= view.bytes;
}

RunTensor tensor_of(const TensorView& view) {
  RunTensor tensor;
  tensor.bytes = view.bytes;
  tensor.fill = Fill::zeros;
  if (fits(view)) {
    tensor.dtype = view.dtype;
    if (!to_string(view.format).empty()) tensor.format = view.format;
    tensor.shape.assign(view.shape.begin(), view.shape.end());
    tensor.original_shape.assign(view.original_shape.begin(), view.original_shape.end());
  } else {
    tensor.dtype = DType::uint8;
    tensor.shape = {view.bytes};
    tensor.original_shape.assign(view.shape.begin(), view.shape.end());
  }
  return tensor;
}

RunOp op_of(const OpDesc& desc, const CapturedTensors& tensors) {
  RunOp op;
  op.desc = desc;
  op.original_names.assign(desc.original_names.begin(), desc.original_names.end());
  for (const TensorView& view : tensors.inputs) op.inputs.push_back(tensor_of(view));
  for (const TensorView& view : tensors.outputs) op.outputs.push_back(tensor_of(view));
  return op;
}

}  // namespace

bool read_dbg_model(std::vector<std::byte> bytes, std::string_view name, nano::DbgFile& file, RunModel& model,
                    ConfigError& error) {
  std::vector<nano::DbgFault> faults;
  static_cast<void>(file.read(std::move(bytes), faults));
  if (!faults.empty()) {
    error.fault = ConfigFault::unreadable;
    error.reason = "byte " + std::to_string(faults[0].offset) + ": " + faults[0].reason;
    return false;
  }
  const ModelDesc desc = file.model(name);
  model.name = desc.name;
  model.graph_name = desc.graph_name;
  for (std::size_t i = 0; i < desc.ops.size(); ++i) model.ops.push_back(op_of(desc.ops[i], desc.tensors[i]));
  return true;
}

}  // namespace opdump::tool
