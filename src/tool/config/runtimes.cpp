#include "src/tool/config/runtimes.hpp"

namespace opdump::tool {
namespace {

constexpr Runtime kRuntimes[] = {
    {"ggml: llama.cpp, whisper.cpp and others", "platform/runtimes/ggml/ggml_tap.hpp",
     "the scheduler's callback, or `cb_eval`", "outputs; inputs that the operator does not write over",
     "yes: what a backend fuses is computed apart where it is dumped", "ggml's question before each node",
     "the graph stops behind the node, and waits for the backend", "run in the tests, ggml 0.25.1"},
    {"ONNX Runtime, 1.22 or later", "platform/runtimes/onnxruntime/ort_tap.hpp",
     "an operator of its own behind each that is wanted, by the model editor of the C API",
     "inputs with constants, outputs; not in the bodies of If, Loop and Scan",
     "no: a tensor that is tapped is not fused away", "nothing: no tap in the graph",
     "the fusion that is lost", "run in the tests, ONNX Runtime 1.28.2; by hand 1.30.0"},
    {"Arm NN", "platform/runtimes/armnn/armnn_tap.hpp", "debug layers, and the callback that they call",
     "outputs; not of layers that the optimiser adds", "no: a fused layer is one operator",
     "nothing: no debug layer", "a copy behind each layer, asked for or not",
     "run in the tests, Arm NN 20.08; compiled for 21.05 and later"},
    {"OpenCV DNN", "platform/runtimes/opencv_dnn/opencv_tap.hpp",
     "layers asked for, made within ones that forward to them", "inputs, outputs",
     "no: a tapped layer is not fused", "nothing: OpenCV's own layers", "the fusion that is lost",
     "run in the tests, OpenCV 4.6.0"},
    {"TensorFlow Lite Micro", "platform/runtimes/tflite_micro/tflm_tap.hpp",
     "the operator resolver, wrapped; no heap", "inputs, outputs; of subgraphs too",
     "no: an Ethos-U network is one operator", "nothing: kernels that no step captures stay as they are",
     "a call, and a second record where the kernel writes to its inputs",
     "compiled, run once by hand with micro_speech; tflite-micro 90b983c"},
};

}  // namespace

std::span<const Runtime> runtimes() {
  return kRuntimes;
}

}  // namespace opdump::tool
