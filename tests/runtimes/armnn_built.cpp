// usage: armnn_built BACKENDS plain|reduced|refused|boolean
// Taps a network that is built by calls, with a layer of two outputs and one without a name, on Arm NN's
// reference backend. "reduced": with floats of 16 bits inside; "refused": the optimiser knows no debug
// layers; "boolean": one layer compares. Runs one step and prints the output.
#include <armnn/ArmNN.hpp>
#include <cstdio>
#include <string>

#include "platform/runtimes/armnn/armnn_tap.hpp"

namespace {

const armnn::TensorInfo kWhole({1, 4, 2}, armnn::DataType::Float32);
const armnn::TensorInfo kHalf({1, 2, 2}, armnn::DataType::Float32);
const armnn::TensorInfo kBooleans({1, 2, 2}, armnn::DataType::Boolean);

void connect(armnn::IConnectableLayer* from, unsigned int slot, const armnn::TensorInfo& info,
             armnn::IConnectableLayer* to, unsigned int input = 0) {
  from->GetOutputSlot(slot).SetTensorInfo(info);
  from->GetOutputSlot(slot).Connect(to->GetInputSlot(input));
}

armnn::INetworkPtr make_network(bool compares) {
  armnn::INetworkPtr network = armnn::INetwork::Create();
  armnn::ViewsDescriptor views(2, 3);
  for (unsigned int view = 0; view < 2; ++view) {
    views.SetViewOriginCoord(view, 1, 2 * view);
    for (unsigned int i = 0; i < 3; ++i) views.SetViewSize(view, i, kHalf.GetShape()[i]);
  }
  armnn::ActivationDescriptor relu;
  relu.m_Function = armnn::ActivationFunction::ReLu;
  armnn::IConnectableLayer* const split = network->AddSplitterLayer(views, "split");
  armnn::IConnectableLayer* const activation = network->AddActivationLayer(relu);
  connect(network->AddInputLayer(0, "input"), 0, kWhole, split);
  connect(split, 1, kHalf, activation);
  if (compares) {
    const armnn::ComparisonDescriptor less(armnn::ComparisonOperation::Less);
    armnn::IConnectableLayer* const comparison = network->AddComparisonLayer(less, "less");
    connect(split, 0, kHalf, comparison, 0);
    connect(activation, 0, kHalf, comparison, 1);
    connect(comparison, 0, kBooleans, network->AddOutputLayer(0));
  } else {
    armnn::IConnectableLayer* const sum = network->AddAdditionLayer("sum");
    connect(split, 0, kHalf, sum, 0);
    connect(activation, 0, kHalf, sum, 1);
    connect(sum, 0, kHalf, network->AddOutputLayer(0));
  }
  return network;
}

}  // namespace

int main(int count, char** arguments) try {
  if (count < 3) return 2;
  const std::string mode = arguments[2];
  const armnn::INetworkPtr network = make_network(mode == "boolean");
  armnn::IRuntime::CreationOptions creation;
  creation.m_DynamicBackendsPath = arguments[1];
  const armnn::IRuntimePtr runtime = armnn::IRuntime::Create(creation);

  opdump::attach::Dump dump;
  opdump::arm_nn::Tap tap(dump, "built", *network);
  armnn::OptimizerOptions options;
  options.m_ReduceFp32ToFp16 = mode == "reduced";
  armnn::NetworkId id = 0;
  const auto optimise = [&](const armnn::OptimizerOptions& wanted) {
    if (mode == "refused" && wanted.m_Debug) throw armnn::InvalidArgumentException("no debug layers");
    return armnn::Optimize(*network, {"CpuRef"}, runtime->GetDeviceSpec(), wanted);
  };
  std::string error;
  if (tap.load(*runtime, id, options, optimise, error) != armnn::Status::Success) return 1;

  const float data[] = {-1, 2, -3, 4, -5, 6, -7, 8};
  unsigned char bytes[16] = {};
  const armnn::Tensor output(mode == "boolean" ? kBooleans : kHalf, bytes);
  {
    const auto step = tap.step();
    if (runtime->EnqueueWorkload(id, {{0, armnn::ConstTensor(kWhole, data)}}, {{0, output}}) !=
        armnn::Status::Success)
      return 1;
  }
  for (unsigned int i = 0; i < output.GetNumBytes(); ++i) std::printf("%02x", unsigned{bytes[i]});
  std::printf("\n");
  return dump.stop() == OPDUMP_OK ? 0 : 1;
} catch (const std::exception& failure) {
  std::fprintf(stderr, "%s\n", failure.what());
  return 1;
}
