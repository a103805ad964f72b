#pragma once
#include <armnn/ArmNN.hpp>
#include <armnn/LayerVisitorBase.hpp>
#include <armnn/backends/ITensorHandle.hpp>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <map>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "opdump/attach.hpp"

/// Dumps what Arm NN computes, in its stock libraries, by its debug layers. C++17 with exceptions; needs Arm
/// NN's own headers. While no config asks for a layer of the network, Arm NN is told nothing. Otherwise it
/// puts a debug layer behind each layer, which copies what that one has computed: all of them pay for one
/// that is dumped.
///
///     opdump::attach::Dump dump;                       // the config that OPDUMP_CONFIG names
///     opdump::armnn::Tap tap(dump, "net", *network);   // before Optimize takes the INetwork
///     tap.set(optimizer_options);
///     auto optimized = armnn::Optimize(*network, backends, runtime->GetDeviceSpec(), optimizer_options);
///     tap.load(*runtime, id, std::move(optimized));    // in place of runtime->LoadNetwork
///     for (...) {
///       const auto step = tap.step();
///       runtime->EnqueueWorkload(id, inputs, outputs);
///     }
///
/// Read with Arm NN 20.08.
namespace opdump::armnn {

/// The dtype of elements of `type`; quantised ones are dumped as they are stored.
inline std::int32_t dtype_of(::armnn::DataType type) {
  switch (type) {
    case ::armnn::DataType::Float16:
      return OPDUMP_FLOAT16;
    case ::armnn::DataType::BFloat16:
      return OPDUMP_BFLOAT16;
    case ::armnn::DataType::Float32:
      return OPDUMP_FLOAT32;
    case ::armnn::DataType::QAsymmU8:
      return OPDUMP_UINT8;
    case ::armnn::DataType::QAsymmS8:
    case ::armnn::DataType::QSymmS8:
      return OPDUMP_INT8;
    case ::armnn::DataType::QSymmS16:
      return OPDUMP_INT16;
    case ::armnn::DataType::Signed32:
      return OPDUMP_INT32;
    case ::armnn::DataType::Boolean:
      return OPDUMP_BOOLEAN;
    default:
      return OPDUMP_UNDEFINED;
  }
}

/// Hears of each layer of a network that computes something, in the order in which they were added.
class LayerWalk : public ::armnn::LayerVisitorBase<::armnn::VisitorNoThrowPolicy> {
 public:
  // clang-format off
  // Arm NN calls another function for each type.
#define OPDUMP_LAYER(type, ...) \
  void Visit##type##Layer(const ::armnn::IConnectableLayer* layer, __VA_ARGS__) override { see(*layer, #type); }
#define OPDUMP_PLAIN(type) OPDUMP_LAYER(type, const char*)
#define OPDUMP_WITH(type) OPDUMP_LAYER(type, const ::armnn::type##Descriptor&, const char*)
#define OPDUMP_WEIGHTED(type)                                                             \
  OPDUMP_LAYER(type, const ::armnn::type##Descriptor&, const ::armnn::ConstTensor&, \
               const ::armnn::Optional<::armnn::ConstTensor>&, const char*)
  OPDUMP_PLAIN(Addition) OPDUMP_PLAIN(Dequantize) OPDUMP_PLAIN(Division) OPDUMP_PLAIN(Floor)
  OPDUMP_PLAIN(Maximum) OPDUMP_PLAIN(Merge) OPDUMP_PLAIN(Minimum) OPDUMP_PLAIN(Multiplication)
  OPDUMP_PLAIN(Prelu) OPDUMP_PLAIN(Quantize) OPDUMP_PLAIN(Rank) OPDUMP_PLAIN(Subtraction)
  OPDUMP_PLAIN(Switch)
  OPDUMP_WITH(Activation) OPDUMP_WITH(ArgMinMax) OPDUMP_WITH(BatchToSpaceNd) OPDUMP_WITH(Comparison)
  OPDUMP_WITH(Concat) OPDUMP_WITH(DepthToSpace) OPDUMP_WITH(ElementwiseUnary) OPDUMP_WITH(Fill)
  OPDUMP_WITH(Gather) OPDUMP_WITH(InstanceNormalization) OPDUMP_WITH(L2Normalization) OPDUMP_WITH(LogSoftmax)
  OPDUMP_WITH(Mean) OPDUMP_WITH(Normalization) OPDUMP_WITH(Pad) OPDUMP_WITH(Permute) OPDUMP_WITH(Pooling2d)
  OPDUMP_WITH(Reshape) OPDUMP_WITH(Resize) OPDUMP_WITH(Slice) OPDUMP_WITH(Softmax)
  OPDUMP_WITH(SpaceToBatchNd) OPDUMP_WITH(SpaceToDepth) OPDUMP_WITH(Splitter) OPDUMP_WITH(Stack)
  OPDUMP_WITH(StandIn) OPDUMP_WITH(StridedSlice) OPDUMP_WITH(Transpose)
  OPDUMP_WEIGHTED(Convolution2d) OPDUMP_WEIGHTED(DepthwiseConvolution2d) OPDUMP_WEIGHTED(FullyConnected)
  OPDUMP_WEIGHTED(TransposeConvolution2d)
  OPDUMP_LAYER(BatchNormalization, const ::armnn::BatchNormalizationDescriptor&, const ::armnn::ConstTensor&,
               const ::armnn::ConstTensor&, const ::armnn::ConstTensor&, const ::armnn::ConstTensor&, const char*)
  OPDUMP_LAYER(Constant, const ::armnn::ConstTensor&, const char*)
  OPDUMP_LAYER(DetectionPostProcess, const ::armnn::DetectionPostProcessDescriptor&, const ::armnn::ConstTensor&,
               const char*)
  OPDUMP_LAYER(Input, ::armnn::LayerBindingId, const char*)
  OPDUMP_LAYER(Lstm, const ::armnn::LstmDescriptor&, const ::armnn::LstmInputParams&, const char*)
  OPDUMP_LAYER(QLstm, const ::armnn::QLstmDescriptor&, const ::armnn::LstmInputParams&, const char*)
  OPDUMP_LAYER(QuantizedLstm, const ::armnn::QuantizedLstmInputParams&, const char*)
#undef OPDUMP_WEIGHTED
#undef OPDUMP_WITH
#undef OPDUMP_PLAIN
#undef OPDUMP_LAYER
      // clang-format on
      using LayerVisitorBase::VisitGatherLayer;

 private:
  virtual void see(const ::armnn::IConnectableLayer& layer, const char* type) = 0;
};

/// Captures the layers of one network. An operator is an output of a layer: a second output of a layer is a
/// second operator, NAME#2, of its name. Arm NN shows what layers write, and not what they read, which is
/// what others wrote. A layer into which the optimiser has folded another keeps its name, and the other one
/// never runs; layers that the optimiser adds, which convert or copy, are none of the network's and are not
/// captured. Layers whose output a backend does not show, and booleans, have no debug layer: Optimize or
/// LoadNetwork fail.
class Tap : private LayerWalk {
 public:
  Tap(attach::Dump& dump, attach::Text model_name, const ::armnn::INetwork& network, std::uint32_t id = 0)
      : model_(dump, model_name, id) {
    network.Accept(*this);
  }
  Tap(const Tap&) = delete;
  Tap& operator=(const Tap&) = delete;

  /// Asks for debug layers if the config that is in force by now asks for layers.
  void set(::armnn::OptimizerOptions& options) {
    is_on_ = !model_.wanted_ops().empty();
    if (is_on_) options.m_Debug = true;
    if (options.m_ReduceFp32ToFp16) reduced_ = OPDUMP_FLOAT16;
    if (options.m_ReduceFp32ToBf16) reduced_ = OPDUMP_BFLOAT16;
  }

  /// LoadNetwork, with what may follow the network there. The tap outlives what it loads.
  template <class... Rest>
  ::armnn::Status load(::armnn::IRuntime& runtime, ::armnn::NetworkId& id,
                       ::armnn::IOptimizedNetworkPtr network, Rest&&... rest) {
    if (is_on_) find_folded(*network);
    const ::armnn::Status status = runtime.LoadNetwork(id, std::move(network), std::forward<Rest>(rest)...);
    if (is_on_ && status == ::armnn::Status::Success) {
      runtime.RegisterDebugCallback(
          id, [this](::armnn::LayerGuid guid, unsigned int slot, ::armnn::ITensorHandle* tensor) {
            const auto output = outputs_.find({std::uint64_t{guid}, slot});
            if (output != outputs_.end() && model_.wants(output->second.op)) capture(output->second, *tensor);
          });
    }
    return status;
  }

  /// Around the EnqueueWorkload of one step.
  [[nodiscard]] attach::Step step(std::uint64_t number = attach::kNextStep) { return model_.step(number); }

  attach::Model& model() { return model_; }

 private:
  struct Output {
    std::uint32_t op;
    std::int32_t dtype;
  };
  using LayerAndSlot = std::pair<std::uint64_t, unsigned int>;

  void see(const ::armnn::IConnectableLayer& layer, const char* type) override {
    attach::OpDetails details;
    details.flags = OPDUMP_TAP_COPIES;
    for (unsigned int slot = 0; slot < layer.GetNumOutputSlots(); ++slot) {
      const std::uint32_t op = model_.add_op(layer.GetName(), type, details);
      outputs_[{std::uint64_t{layer.GetGuid()}, slot}] = {
          op, dtype_of(layer.GetOutputSlot(slot).GetTensorInfo().GetDataType())};
      if (slot == 0) layers_[layer.GetName()] = layer.GetGuid();
    }
  }

  /// A layer "folded-PAD-into-CONV" computes what CONV did, under an id of its own.
  void find_folded(const ::armnn::IOptimizedNetwork& network) {
    std::stringstream graph;
    network.SerializeToDot(graph);
    const std::string mark = "LayerName : folded-", into = "-into-", end = "\\l";
    for (std::string line; std::getline(graph, line);) {
      std::size_t at = line.find(mark);
      if (at == std::string::npos || (at = line.find(into, at)) == std::string::npos) continue;
      at += into.size();
      const auto layer = layers_.find(line.substr(at, line.find(end, at) - at));
      std::uint64_t guid = 0;
      if (layer != layers_.end() && std::istringstream(line) >> guid)
        outputs_[{guid, 0}] = outputs_[{layer->second, 0}];
    }
  }

  void capture(const Output& output, const ::armnn::ITensorHandle& tensor) {
    tensors_.clear();
    try {
      const ::armnn::TensorShape shape = tensor.GetShape(), pitch = tensor.GetStrides();
      std::vector<unsigned int> dims, strides;
      for (unsigned int i = 0; i < shape.GetNumDimensions(); ++i) {
        dims.push_back(shape[i]);
        strides.push_back(pitch[i]);
      }
      const bool is_reduced = output.dtype == OPDUMP_FLOAT32 && !strides.empty() && strides.back() == 2;
      const Mapped mapped(tensor);
      tensors_.add(mapped.data, is_reduced ? reduced_ : output.dtype, dims).strides(strides);
      model_.capture(output.op, {}, tensors_);
    } catch (const std::exception&) {
      tensors_.clear();
      tensors_.add(nullptr, OPDUMP_UNDEFINED, {1});
      model_.capture(output.op, {}, tensors_);  // the record is lost, which is counted and told
    }
  }

  struct Mapped {
    const ::armnn::ITensorHandle& tensor;
    const void* const data;
    explicit Mapped(const ::armnn::ITensorHandle& of) : tensor(of), data(of.Map(true)) {}
    Mapped(const Mapped&) = delete;
    Mapped& operator=(const Mapped&) = delete;
    ~Mapped() { tensor.Unmap(); }
  };

  attach::Model model_;
  bool is_on_ = false;
  std::int32_t reduced_ = OPDUMP_UNDEFINED;  ///< what the optimiser makes of floats of 32 bits
  std::map<LayerAndSlot, Output> outputs_;
  std::map<std::string, std::uint64_t> layers_;  ///< the last one of each name
  attach::Tensors tensors_;
};

}  // namespace opdump::armnn
