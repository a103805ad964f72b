// usage: armnn_built BACKENDS [reduced]
// Taps a network that is built by calls, with a layer of two outputs, on Arm NN's reference backend.
// "reduced": with floats of 16 bits inside. Runs one step.
#include <armnn/ArmNN.hpp>
#include <cstdio>
#include <utility>

#include "platform/runtimes/armnn/armnn_tap.hpp"

int main(int count, char** arguments) try {
  if (count < 2) return 2;
  const armnn::TensorInfo whole({1, 4, 2}, armnn::DataType::Float32),
      half({1, 2, 2}, armnn::DataType::Float32);
  const armnn::INetworkPtr network = armnn::INetwork::Create();
  armnn::ViewsDescriptor views(2, 3);
  for (unsigned int view = 0; view < 2; ++view) {
    views.SetViewOriginCoord(view, 1, 2 * view);
    for (unsigned int i = 0; i < 3; ++i) views.SetViewSize(view, i, half.GetShape()[i]);
  }
  armnn::ActivationDescriptor relu;
  relu.m_Function = armnn::ActivationFunction::ReLu;
  armnn::IConnectableLayer* const input = network->AddInputLayer(0, "input");
  armnn::IConnectableLayer* const split = network->AddSplitterLayer(views, "split");
  armnn::IConnectableLayer* const activation = network->AddActivationLayer(relu, "relu");
  armnn::IConnectableLayer* const first = network->AddOutputLayer(0, "first");
  armnn::IConnectableLayer* const second = network->AddOutputLayer(1, "second");
  input->GetOutputSlot(0).SetTensorInfo(whole);
  input->GetOutputSlot(0).Connect(split->GetInputSlot(0));
  split->GetOutputSlot(0).SetTensorInfo(half);
  split->GetOutputSlot(0).Connect(first->GetInputSlot(0));
  split->GetOutputSlot(1).SetTensorInfo(half);
  split->GetOutputSlot(1).Connect(activation->GetInputSlot(0));
  activation->GetOutputSlot(0).SetTensorInfo(half);
  activation->GetOutputSlot(0).Connect(second->GetInputSlot(0));

  armnn::IRuntime::CreationOptions creation;
  creation.m_DynamicBackendsPath = arguments[1];
  const armnn::IRuntimePtr runtime = armnn::IRuntime::Create(creation);
  opdump::attach::Dump dump;
  opdump::armnn::Tap tap(dump, "built", *network);
  armnn::OptimizerOptions options;
  options.m_ReduceFp32ToFp16 = count > 2;
  tap.set(options);
  armnn::NetworkId id = 0;
  if (tap.load(*runtime, id, armnn::Optimize(*network, {"CpuRef"}, runtime->GetDeviceSpec(), options)) !=
      armnn::Status::Success)
    return 1;
  const float data[] = {-1, 2, -3, 4, -5, 6, -7, 8};
  float results[2][4];
  {
    const auto step = tap.step();
    if (runtime->EnqueueWorkload(id, {{0, armnn::ConstTensor(whole, data)}},
                                 {{0, armnn::Tensor(half, results[0])},
                                  {1, armnn::Tensor(half, results[1])}}) != armnn::Status::Success)
      return 1;
  }
  return dump.stop() == OPDUMP_OK ? 0 : 1;
} catch (const std::exception& failure) {
  std::fprintf(stderr, "%s\n", failure.what());
  return 1;
}
