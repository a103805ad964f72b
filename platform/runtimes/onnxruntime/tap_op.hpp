#pragma once
#include <atomic>
#include <climits>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "opdump/attach.hpp"
#include "platform/runtimes/onnxruntime/ort_abi.hpp"

namespace opdump::onnxruntime {

/// The dtype of ONNX Runtime's elements, which it numbers as ONNX does, but for the last ones.
inline std::int32_t dtype_of(ONNXTensorElementDataType type) {
  switch (const std::int32_t number = static_cast<std::int32_t>(type)) {
    case 24:
      return OPDUMP_UINT2;
    case 25:
      return OPDUMP_INT2;
    case 26:
      return OPDUMP_FLOAT8_E8M0;
    default:
      return opdump_dtype_of_onnx(number);
  }
}

/// A tensor of an operator.
struct TapTensor {
  std::string name;  ///< empty: left out
  bool constant;     ///< the model holds it
  bool is_read;      ///< by the tap
};

/// An operator that is tapped.
struct TapNode {
  std::string name;
  std::uint32_t op;
  std::vector<TapTensor> inputs, outputs;
};

/// The operator that the taps are: it reads any number of tensors, one after the other those of its TapNode,
/// and writes none. Which node is its own it knows by its name.
class TapOp : public OrtCustomOp {
 public:
  /// Model and nodes stay where they are while there are sessions with taps.
  TapOp(attach::Dump& dump, attach::Model& model, const std::vector<TapNode>& nodes)
      : OrtCustomOp(), dump_(dump), model_(model), nodes_(nodes) {
    version = 22;
    OrtCustomOp::GetName = [](const OrtCustomOp*) { return kType; };
    GetExecutionProviderType = [](const OrtCustomOp*) -> const char* { return nullptr; };  // the CPU
    GetInputTypeCount = [](const OrtCustomOp*) { return std::size_t{1}; };
    GetInputType = [](const OrtCustomOp*, std::size_t) { return ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED; };
    GetInputCharacteristic = [](const OrtCustomOp*, std::size_t) { return INPUT_OUTPUT_VARIADIC; };
    GetInputMemoryType = [](const OrtCustomOp*, std::size_t) { return OrtMemTypeDefault; };
    GetVariadicInputMinArity = [](const OrtCustomOp*) { return 1; };
    GetVariadicInputHomogeneity = [](const OrtCustomOp*) { return 0; };
    GetOutputTypeCount = [](const OrtCustomOp*) { return std::size_t{0}; };
    GetOutputType = GetInputType;
    GetOutputCharacteristic = [](const OrtCustomOp*, std::size_t) { return INPUT_OUTPUT_REQUIRED; };
    GetVariadicOutputMinArity = GetVariadicOutputHomogeneity = GetVariadicInputHomogeneity;
    GetStartVersion = [](const OrtCustomOp*) { return 1; };
    GetEndVersion = [](const OrtCustomOp*) { return INT_MAX; };
    CreateKernelV2 = create_kernel;
    KernelComputeV2 = compute;
    KernelDestroy = [](void* kernel) { delete static_cast<Kernel*>(kernel); };
  }

  static constexpr const char* kType = "Tap";

  /// Of the tap of node number `node`.
  static std::string name_of(std::size_t node) { return kPrefix + std::to_string(node) + ':'; }

 private:
  struct Kernel {
    const OrtApi* api;
    const TapOp* op;
    const TapNode* node;
  };

  static constexpr char kPrefix[] = "opdump:";

  static OrtStatus* create_kernel(const OrtCustomOp* op, const OrtApi* api, const OrtKernelInfo* info,
                                  void** kernel) {
    const TapOp& self = *static_cast<const TapOp*>(op);
    char name[64] = {};
    std::size_t bytes = sizeof name;
    OrtStatus* const status = api->KernelInfo_GetNodeName(info, name, &bytes);
    if (status != nullptr) return status;
    *kernel = new Kernel{api, &self, &self.nodes_[std::strtoul(name + sizeof kPrefix - 1, nullptr, 10)]};
    return nullptr;
  }

  /// Whatever happens, inference goes on.
  static OrtStatus* compute(void* kernel, OrtKernelContext* context) {
    const Kernel& self = *static_cast<const Kernel*>(kernel);
    attach::Model& model = self.op->model_;
    if (!model.wants(self.node->op)) return nullptr;
    thread_local attach::Tensors inputs, outputs;
    std::size_t index = 0;
    add(self, context, self.node->inputs, index, inputs);
    add(self, context, self.node->outputs, index, outputs);
    model.capture(self.node->op, inputs, outputs);
    return nullptr;
  }

  static void add(const Kernel& self, const OrtKernelContext* context, const std::vector<TapTensor>& tensors,
                  std::size_t& index, attach::Tensors& to) {
    to.clear();
    for (const TapTensor& tensor : tensors) {
      // One that is not read is there without elements, so that those behind it keep their numbers.
      if (!tensor.is_read || !add(self, context, index++, to)) to.add(nullptr, OPDUMP_UINT8, {0});
      to.name(tensor.name.c_str());
    }
  }

  static bool add(const Kernel& self, const OrtKernelContext* context, std::size_t index,
                  attach::Tensors& to) {
    const OrtApi& api = *self.api;
    thread_local std::vector<std::int64_t> dims;
    const OrtValue* value = nullptr;
    OrtTensorTypeAndShapeInfo* shape = nullptr;
    ONNXTensorElementDataType type = ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED;
    std::size_t rank = 0;
    void* data = nullptr;
    const auto works = [&](OrtStatus* status) {
      api.ReleaseStatus(status);
      return status == nullptr;
    };
    bool good = works(api.KernelContext_GetInput(context, index, &value)) && value != nullptr &&
                works(api.GetTensorTypeAndShape(value, &shape)) &&
                works(api.GetTensorElementType(shape, &type)) && works(api.GetDimensionsCount(shape, &rank));
    if (good) {
      dims.resize(rank);
      good = works(api.GetDimensions(shape, dims.data(), rank)) &&
             works(api.GetTensorMutableData(const_cast<OrtValue*>(value), &data));
    }
    if (shape != nullptr) api.ReleaseTensorTypeAndShapeInfo(shape);
    if (!good) return false;
    if (type == ONNX_TENSOR_ELEMENT_DATA_TYPE_STRING) {
      to.add(nullptr, OPDUMP_STRING, {0}).original_dims(dims);
      self.op->tell_of_texts(*self.node);
    } else {
      to.add(data, dtype_of(type), dims);
    }
    return true;
  }

  void tell_of_texts(const TapNode& node) const {
    if (!told_.exchange(true))
      dump_.say("texts are not dumped, but that they are there, as those of operator \"" + node.name + '"');
  }

  attach::Dump& dump_;
  attach::Model& model_;
  const std::vector<TapNode>& nodes_;
  mutable std::atomic<bool> told_{false};
};

}  // namespace opdump::onnxruntime
