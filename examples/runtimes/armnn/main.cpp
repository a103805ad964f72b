// usage: armnn MODEL.tflite STEPS [RESULTS [BACKENDS]]
// Runs a network of one input and one output STEPS times on Arm NN's reference backend, with its stock
// libraries. The layers that the config of OPDUMP_CONFIG asks for are dumped; a step is a run, on a chirp
// that moves on. RESULTS is a file that gets the output of each; BACKENDS is the folder of Arm NN's backends.
#include <armnn/ArmNN.hpp>
#include <armnnTfLiteParser/ITfLiteParser.hpp>
#include <cstdio>
#include <vector>

#include "platform/runtimes/armnn/armnn_tap.hpp"

int main(int count, char** arguments) try {
  if (count < 4) return 2;
  const auto parser = armnnTfLiteParser::ITfLiteParser::Create();
  const armnn::INetworkPtr network = parser->CreateNetworkFromBinaryFile(arguments[1]);
  const auto input = parser->GetNetworkInputBindingInfo(0, parser->GetSubgraphInputTensorNames(0)[0]);
  const auto output = parser->GetNetworkOutputBindingInfo(0, parser->GetSubgraphOutputTensorNames(0)[0]);
  armnn::IRuntime::CreationOptions creation;
  if (count > 4) creation.m_DynamicBackendsPath = arguments[4];
  const armnn::IRuntimePtr runtime = armnn::IRuntime::Create(creation);

  opdump::attach::Dump dump;                       // opdump
  opdump::arm_nn::Tap tap(dump, "net", *network);  // opdump
  armnn::NetworkId id = 0;
  const auto optimise = [&](const armnn::OptimizerOptions& options) {
    return armnn::Optimize(*network, {"CpuRef"}, runtime->GetDeviceSpec(), options);
  };
  if (tap.load(*runtime, id, armnn::OptimizerOptions(), optimise) != armnn::Status::Success)
    return 1;  // opdump

  std::FILE* const inputs = std::fopen(arguments[2], "rb");
  std::FILE* const results = std::fopen(arguments[3], "wb");
  if (inputs == nullptr || results == nullptr) return 1;
  std::vector<char> data(input.second.GetNumBytes()), result(output.second.GetNumBytes());
  while (std::fread(data.data(), data.size(), 1, inputs) == 1) {
    const auto step = tap.step();  // opdump
    if (runtime->EnqueueWorkload(id, {{input.first, armnn::ConstTensor(input.second, data.data())}},
                                 {{output.first, armnn::Tensor(output.second, result.data())}}) !=
        armnn::Status::Success)
      return 1;
    std::fwrite(result.data(), result.size(), 1, results);
  }
  std::fclose(results);
  std::fclose(inputs);
  return dump.stop() == OPDUMP_OK ? 0 : 1;  // opdump
} catch (const std::exception& failure) {
  std::fprintf(stderr, "%s\n", failure.what());
  return 1;
}
