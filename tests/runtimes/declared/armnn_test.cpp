#include <doctest/doctest.h>

#include <map>
#include <string>

#include "platform/runtimes/armnn/armnn_tap.hpp"
#include "tests/support/attach_run.hpp"

using namespace opdump;
using namespace opdump::tests;

namespace {

struct Slot : armnn::IOutputSlot {
  explicit Slot(armnn::DataType type) : info(type) {}
  const armnn::TensorInfo& GetTensorInfo() const override { return info; }
  armnn::TensorInfo info;
};

struct Layer : armnn::IConnectableLayer {
  Layer(std::uint64_t id, armnn::LayerType of, const char* named, armnn::DataType dtype)
      : guid(id), type(of), name(named), slot(dtype) {}
  const char* GetName() const override { return name; }
  unsigned int GetNumOutputSlots() const override { return type == armnn::LayerType::Output ? 0 : 1; }
  const armnn::IOutputSlot& GetOutputSlot(unsigned int) const override { return slot; }
  armnn::LayerGuid GetGuid() const override { return armnn::LayerGuid(guid); }
  armnn::LayerType GetType() const override { return type; }

  std::uint64_t guid;
  armnn::LayerType type;
  const char* name;
  Slot slot;
};

struct Handle : armnn::ITensorHandle {
  const void* Map(bool) const override { return data; }
  void Unmap() const override { ++unmapped; }
  armnn::TensorShape GetStrides() const override { return {16, 8}; }
  armnn::TensorShape GetShape() const override { return {1, 2}; }

  const std::int64_t data[2] = {-2, 3};
  mutable int unmapped = 0;
};

/// An optimiser that makes a network of this graph, with debug layers if they are asked for.
auto optimiser(const std::string& graph) {
  return [graph](const armnn::OptimizerOptionsOpaque& options) {
    auto optimised = std::make_unique<armnn::IOptimizedNetwork>();
    optimised->has_debug_layers = options.GetDebugEnabled();
    optimised->graph = graph;
    return optimised;
  };
}

}  // namespace

TEST_CASE("armnn: layers of later versions, under the names that they had before the optimiser fused them") {
  AttachRun asked(R"("dump_list": [{"model_name": "net", "layer": ["conv", "relu", "relu6"]}])");
  const Layer pad(1, armnn::LayerType::Pad, "pad", armnn::DataType::Signed64);
  const Layer conv(2, armnn::LayerType::Convolution2d, "conv", armnn::DataType::Signed64);
  const Layer before(3, armnn::LayerType::Convolution2d, "before", armnn::DataType::Signed64);
  const Layer relu(4, armnn::LayerType::Activation, "relu", armnn::DataType::Signed64);
  const Layer output(5, armnn::LayerType::Output, "output", armnn::DataType::Signed64);
  const Layer relu6(6, armnn::LayerType::Activation, "relu6", armnn::DataType::Signed64);
  armnn::INetwork network;
  network.layers = {&pad, &conv, &before, &relu, &relu6, &output};
  armnn::IRuntime runtime;
  Handle handle;
  {
    attach::Dump dump(asked.config().c_str(), asked.options());
    opdump::arm_nn::Tap tap(dump, "net", network);
    armnn::NetworkId id = 0;
    const std::string graph =
        "digraph Optimized {\n"
        "    20 [label=\"{Convolution2d|LayerName : folded-pad-into-conv\\lLayerType : "
        "Convolution2d\\l}\"];\n"
        "    21 [label=\"{Convolution2d|LayerName : fused-relu-into-before\\lLayerType : "
        "Convolution2d\\l}\"];\n"
        "    22 [label=\"{Activation|LayerName : relu6\\lLayerType : Activation\\l}\"];\n";
    CHECK(tap.load(runtime, id, armnn::OptimizerOptionsOpaque(), optimiser(graph)) == armnn::Status::Success);
    CHECK(runtime.loaded->has_debug_layers);
    const auto step = tap.step();
    for (const std::uint64_t guid : {20u, 21u, 99u}) runtime.callback(armnn::LayerGuid(guid), 0, &handle);
  }
  CHECK(handle.unmapped == 2);
  const std::map<std::string, std::string> records = asked.records();
  CHECK(records.size() == 2);
  for (const char* const key : {"0/Convolution2d.conv", "0/Activation.relu"}) {
    REQUIRE(records.count(key) == 1);
    CHECK(records.at(key).ends_with(std::string(reinterpret_cast<const char*>(handle.data), 16)));
  }
  CHECK(asked.told("never captured: operator \"relu6\" of model \"net\"") == 1);
}

TEST_CASE("armnn: without a dump no debug layer is asked for") {
  const Layer conv(2, armnn::LayerType::Convolution2d, "conv", armnn::DataType::Float32);
  armnn::INetwork network;
  network.layers = {&conv};
  armnn::IRuntime runtime;
  AttachRun asked(R"("dump_list": [{"model_name": "other"}])");
  attach::Dump dump(asked.config().c_str(), asked.options());
  opdump::arm_nn::Tap tap(dump, "net", network);
  armnn::NetworkId id = 0;
  CHECK(tap.load(runtime, id, armnn::OptimizerOptionsOpaque(), optimiser("")) == armnn::Status::Success);
  CHECK_FALSE(runtime.loaded->has_debug_layers);
  CHECK(runtime.callback == nullptr);
}
