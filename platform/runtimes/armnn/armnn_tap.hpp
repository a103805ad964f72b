#pragma once
#include <armnn/ArmNN.hpp>
#include <armnn/backends/ITensorHandle.hpp>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <map>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#if __has_include(<armnn/IStrategy.hpp>)
#include <armnn/IStrategy.hpp>
#else
#include <armnn/LayerVisitorBase.hpp>
#endif

#include "opdump/attach.hpp"

/// Dumps what Arm NN computes, in its stock libraries, by its debug layers. C++17 with exceptions; needs Arm NN's own
/// headers. While no config asks for a layer of the network, Arm NN is told nothing. Otherwise it puts a debug layer
/// behind each layer, which copies what that one has computed: all of them pay for one that is dumped.
///
///     opdump::attach::Dump dump;                       // the config that OPDUMP_CONFIG names
///     opdump::arm_nn::Tap tap(dump, "net", *network);   // outlives what it loads
///     tap.load(*runtime, id, armnn::OptimizerOptions(), [&](const auto& options) {
///       return armnn::Optimize(*network, backends, runtime->GetDeviceSpec(), options);
///     });
///     for (...) {
///       const auto step = tap.step();
///       runtime->EnqueueWorkload(id, inputs, outputs);
///     }
///
/// Read with Arm NN 20.08. The headers of 21.05 and later differ in how layers are walked and options are
/// set: compiled against declarations of our own.
namespace opdump::arm_nn {

/// The dtype of elements of `type`; quantised ones are dumped as they are stored.
inline std::int32_t dtype_of(armnn::DataType type) {
  static constexpr std::pair<const char*, std::int32_t> kDTypes[] = {
      {"Float16", OPDUMP_FLOAT16}, {"BFloat16", OPDUMP_BFLOAT16}, {"Float32", OPDUMP_FLOAT32},
      {"QAsymmU8", OPDUMP_UINT8},  {"QAsymmS8", OPDUMP_INT8},     {"QSymmS8", OPDUMP_INT8},
      {"QSymm16", OPDUMP_INT16},   {"Signed32", OPDUMP_INT32},    {"Signed64", OPDUMP_INT64},
      {"Boolean", OPDUMP_BOOLEAN}};
  for (const auto& [name, dtype] : kDTypes)  // 20.08 has no Signed64 to compare with
    if (std::string(name) == armnn::GetDataTypeName(type)) return dtype;
  return OPDUMP_UNDEFINED;
}

/// Hears of each layer of a network, in the order in which they were added.
#if __has_include(<armnn/IStrategy.hpp>)
class LayerWalk : public armnn::IStrategy {
 public:
  void walk(const armnn::INetwork& network) { network.ExecuteStrategy(*this); }
  void ExecuteStrategy(const armnn::IConnectableLayer* layer, const armnn::BaseDescriptor&,
                       const std::vector<armnn::ConstTensor>&, const char*,
                       const armnn::LayerBindingId) override {
    see(*layer, armnn::GetLayerTypeAsCString(layer->GetType()));
  }
#else
class LayerWalk : public armnn::LayerVisitorBase<armnn::VisitorNoThrowPolicy> {
 public:
  void walk(const armnn::INetwork& network) { network.Accept(*this); }
  // clang-format off
  // Arm NN calls another function for each type.
#define OPDUMP_LAYER(type, ...) \
  void Visit##type##Layer(const armnn::IConnectableLayer* layer, __VA_ARGS__) override { see(*layer, #type); }
#define OPDUMP_PLAIN(type) OPDUMP_LAYER(type, const char*)
#define OPDUMP_WITH(type) OPDUMP_LAYER(type, const armnn::type##Descriptor&, const char*)
#define OPDUMP_WEIGHTED(type)                                                             \
  OPDUMP_LAYER(type, const armnn::type##Descriptor&, const armnn::ConstTensor&, \
               const armnn::Optional<armnn::ConstTensor>&, const char*)
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
  OPDUMP_LAYER(BatchNormalization, const armnn::BatchNormalizationDescriptor&, const armnn::ConstTensor&,
               const armnn::ConstTensor&, const armnn::ConstTensor&, const armnn::ConstTensor&, const char*)
  OPDUMP_LAYER(Constant, const armnn::ConstTensor&, const char*)
  OPDUMP_LAYER(DetectionPostProcess, const armnn::DetectionPostProcessDescriptor&, const armnn::ConstTensor&,
               const char*)
  OPDUMP_LAYER(Input, armnn::LayerBindingId, const char*)
  OPDUMP_LAYER(Lstm, const armnn::LstmDescriptor&, const armnn::LstmInputParams&, const char*)
  OPDUMP_LAYER(QLstm, const armnn::QLstmDescriptor&, const armnn::LstmInputParams&, const char*)
  OPDUMP_LAYER(QuantizedLstm, const armnn::QuantizedLstmInputParams&, const char*)
#undef OPDUMP_WEIGHTED
#undef OPDUMP_WITH
#undef OPDUMP_PLAIN
#undef OPDUMP_LAYER
      // clang-format on
      using LayerVisitorBase::VisitGatherLayer;
#endif

 private:
  virtual void see(const armnn::IConnectableLayer& layer, const char* type) = 0;
};

/// Captures the layers of one network. An operator is an output of a layer: a second output of a layer is a
/// second operator, NAME#2, of its name. A layer without a name has that of its type. Arm NN shows what
/// layers write, and not what they read, which is what others wrote. A layer into which the optimiser has
/// folded or fused another is captured as the one whose results it has, and the other one never runs; layers
/// that the optimiser adds, which convert or copy, are none of the network's and are not captured.
class Tap : private LayerWalk {
 public:
  Tap(attach::Dump& dump, attach::Text model_name, const armnn::INetwork& network, std::uint32_t id = 0)
      : model_(dump, model_name, id) {
    walk(network);
  }
  Tap(const Tap&) = delete;
  Tap& operator=(const Tap&) = delete;

  /// Optimises the network and loads it, with debug layers if the config that is in force by now asks for
  /// layers. `optimise` is called with `options`, which are OptimizerOptions or, in later versions,
  /// OptimizerOptionsOpaque, and asks for debug layers beside what they say. When it, or loading, fails with
  /// these, or the network has booleans, of which debug layers end the process, it is loaded without. `rest`
  /// is what may follow the network in LoadNetwork. Throws what `optimise` throws without debug layers.
  template <class Options, class Optimise, class... Rest>
  armnn::Status load(armnn::IRuntime& runtime, armnn::NetworkId& id, const Options& options,
                     Optimise optimise, Rest&... rest) {
    if (!has_booleans_ && !model_.wanted_ops().empty()) {
      try {
        Options with_debug = options;
        set_debug(with_debug);
        armnn::IOptimizedNetworkPtr network = optimise(std::as_const(with_debug));
        if (network != nullptr) find_optimised(*network);
        if (network != nullptr &&
            runtime.LoadNetwork(id, std::move(network), rest...) == armnn::Status::Success) {
          runtime.RegisterDebugCallback(
              id, [this](armnn::LayerGuid guid, unsigned int slot, armnn::ITensorHandle* tensor) {
                const auto output = outputs_.find({std::uint64_t{guid}, slot});
                if (output != outputs_.end() && model_.wants(output->second.op))
                  capture(output->second, *tensor);
              });
          return armnn::Status::Success;
        }
      } catch (const std::exception&) {  // the log says of each operator that it never ran
      }
    }
    armnn::IOptimizedNetworkPtr network = optimise(options);
    if (network == nullptr) return armnn::Status::Failure;
    return runtime.LoadNetwork(id, std::move(network), rest...);
  }

  /// Around the EnqueueWorkload of one step.
  [[nodiscard]] attach::Step step(std::uint64_t number = attach::kNextStep) { return model_.step(number); }

  attach::Model& model() { return model_; }

 private:
  struct Output {
    std::uint32_t op;
    std::int32_t dtype;
  };

  template <class Options>
  auto set_debug(Options& options) -> decltype(options.m_Debug, void()) {
    options.m_Debug = true;
    reduced_ = options.m_ReduceFp32ToBf16 ? OPDUMP_BFLOAT16 : OPDUMP_FLOAT16;
  }
  template <class Options>
  auto set_debug(Options& options) -> decltype(options.SetDebugEnabled(true), void()) {
    options.SetDebugEnabled(true);
    reduced_ = options.GetReduceFp32ToBf16() ? OPDUMP_BFLOAT16 : OPDUMP_FLOAT16;
  }

  void see(const armnn::IConnectableLayer& layer, const char* type) override {
    attach::OpDetails details;
    details.flags = OPDUMP_TAP_COPIES;
    const std::string name = layer.GetName(), op_name = name.empty() ? type : name;
    for (unsigned int slot = 0; slot < layer.GetNumOutputSlots(); ++slot) {
      const std::int32_t dtype = dtype_of(layer.GetOutputSlot(slot).GetTensorInfo().GetDataType());
      has_booleans_ = has_booleans_ || dtype == OPDUMP_BOOLEAN;
      outputs_[{std::uint64_t{layer.GetGuid()}, slot}] = {model_.add_op(op_name, type, details), dtype};
    }
    layers_[name] = layer.GetGuid();
  }

  /// The layer that computed what `name` does now: "folded-PAD-into-CONV" what CONV did,
  /// "fused-RELU-into-CONV" what RELU did.
  static std::string name_before(std::string name) {
    const std::string folded = "folded-", fused = "fused-", into = "-into-";
    for (std::size_t at; (at = name.find(into)) != std::string::npos;) {
      if (name.compare(0, folded.size(), folded) == 0) {
        name = name.substr(at + into.size());
      } else if (name.compare(0, fused.size(), fused) == 0) {
        name = name.substr(fused.size(), at - fused.size());
      } else {
        break;
      }
    }
    return name;
  }

  /// The optimiser's layers have ids of their own, which only its graph tells.
  void find_optimised(const armnn::IOptimizedNetwork& network) {
    std::stringstream graph;
    network.SerializeToDot(graph);
    const std::string mark = "LayerName : ";
    for (std::string line; std::getline(graph, line);) {
      const std::size_t at = line.find(mark);
      if (at == std::string::npos) continue;
      const std::string name = line.substr(at + mark.size(), line.find("\\l", at) - at - mark.size());
      const auto layer = layers_.find(name_before(name));
      std::uint64_t guid = 0;
      if (layer != layers_.end() && layer->first != name && std::istringstream(line) >> guid)
        outputs_[{guid, 0}] = outputs_.at({layer->second, 0});
    }
  }

  void capture(const Output& output, const armnn::ITensorHandle& tensor) {
    tensors_.clear();
    try {
      const armnn::TensorShape shape = tensor.GetShape(), pitch = tensor.GetStrides();
      std::vector<unsigned int> dims, strides;
      for (unsigned int i = 0; i < shape.GetNumDimensions(); ++i) {
        dims.push_back(shape[i]);
        strides.push_back(pitch[i]);
      }
      const bool is_reduced = output.dtype == OPDUMP_FLOAT32 && !strides.empty() && strides.back() == 2;
      tensors_.add(tensor.Map(true), is_reduced ? reduced_ : output.dtype, dims).strides(strides);
      model_.capture(output.op, {}, tensors_);
      tensor.Unmap();
    } catch (const std::exception&) {
      tensors_.clear();
      tensors_.add(nullptr, OPDUMP_UNDEFINED, {1});
      model_.capture(output.op, {}, tensors_);  // the record is lost, which is counted and told
    }
  }

  attach::Model model_;
  bool has_booleans_ = false;
  std::int32_t reduced_ = OPDUMP_UNDEFINED;  ///< what the optimiser makes of floats of 32 bits
  std::map<std::pair<std::uint64_t, unsigned int>, Output> outputs_;  ///< by layer and slot
  std::map<std::string, std::uint64_t> layers_;                       ///< the last one of each name
  attach::Tensors tensors_;
};

}  // namespace opdump::arm_nn
