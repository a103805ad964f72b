// usage: armnn_layers MODEL.tflite INPUT BACKENDS
// What Arm NN itself gives for each layer: the same network without debug layers and without opdump, with
// outputs behind all of its layers. Prints type, name and output, as hexadecimal digits, of each.
#include <armnnTfLiteParser/ITfLiteParser.hpp>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "platform/runtimes/armnn/armnn_tap.hpp"

struct Layers : opdump::arm_nn::LayerWalk {
  struct Layer {
    std::string type;
    armnn::IConnectableLayer* layer;
  };
  std::vector<Layer> all;

  void see(const armnn::IConnectableLayer& layer, const char* type) override {
    if (type != std::string("Input")) all.push_back({type, const_cast<armnn::IConnectableLayer*>(&layer)});
  }
};

int main(int count, char** arguments) try {
  if (count < 4) return 2;
  std::ifstream file(arguments[2], std::ios::binary);
  std::vector<char> data((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  const auto parser = armnnTfLiteParser::ITfLiteParser::Create();
  const armnn::INetworkPtr network = parser->CreateNetworkFromBinaryFile(arguments[1]);
  const auto input = parser->GetNetworkInputBindingInfo(0, parser->GetSubgraphInputTensorNames(0)[0]);
  const auto output = parser->GetNetworkOutputBindingInfo(0, parser->GetSubgraphOutputTensorNames(0)[0]);
  Layers layers;
  layers.walk(*network);

  std::vector<std::vector<char>> results(layers.all.size());
  std::vector<char> last(output.second.GetNumBytes());
  armnn::OutputTensors outputs = {{output.first, armnn::Tensor(output.second, last.data())}};
  armnn::OptimizerOptions options;
  options.m_Debug = count > 4;
  for (std::size_t i = 0; i < layers.all.size() && count == 4; ++i) {
    const int binding = 1000 + static_cast<int>(i);
    armnn::IOutputSlot& slot = layers.all[i].layer->GetOutputSlot(0);
    slot.Connect(network->AddOutputLayer(binding)->GetInputSlot(0));
    results[i].resize(slot.GetTensorInfo().GetNumBytes());
    outputs.push_back({binding, armnn::Tensor(slot.GetTensorInfo(), results[i].data())});
  }
  armnn::IRuntime::CreationOptions creation;
  creation.m_DynamicBackendsPath = arguments[3];
  const armnn::IRuntimePtr runtime = armnn::IRuntime::Create(creation);
  armnn::NetworkId id = 0;
  if (runtime->LoadNetwork(id, armnn::Optimize(*network, {"CpuRef"}, runtime->GetDeviceSpec(), options)) !=
      armnn::Status::Success)
    return 1;
  for (int run = 0; run < (count > 4 ? std::atoi(arguments[4]) : 1); ++run) {
    if (runtime->EnqueueWorkload(id, {{input.first, armnn::ConstTensor(input.second, data.data())}},
                                 outputs) != armnn::Status::Success)
      return 1;
  }
  for (std::size_t i = 0; i < results.size() && count == 4; ++i) {
    std::printf("%s\t%s\t", layers.all[i].type.c_str(), layers.all[i].layer->GetName());
    for (const char byte : results[i]) std::printf("%02x", static_cast<unsigned>(byte) & 255u);
    std::printf("\n");
  }
} catch (const std::exception& failure) {
  std::fprintf(stderr, "%s\n", failure.what());
  return 1;
}
