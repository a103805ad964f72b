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
    {"TensorFlow Lite, LiteRT", "platform/runtimes/tflite/tflite_tap.hpp", "a profiler of the interpreter",
     "inputs, outputs; of subgraphs too", "no: what a delegate takes over is one operator",
     "two virtual calls a node", "copies of inputs that the node may write over",
     "compiled, not run; LiteRT f677904"},
    {"TensorFlow Lite Micro", "platform/runtimes/tflite_micro/tflm_tap.hpp",
     "the operator resolver, wrapped; no heap", "inputs, outputs; of subgraphs too",
     "no: an Ethos-U network is one operator", "nothing: kernels that no step captures stay as they are",
     "a call, and a second record where the kernel writes to its inputs",
     "compiled, run once by hand with micro_speech; tflite-micro 90b983c"},
    {"ncnn", "platform/runtimes/ncnn/ncnn_tap.hpp", "layers of the loaded net, wrapped", "inputs, outputs",
     "no; layers on a GPU are not seen", "nothing: no layer wrapped",
     "a copy of what a layer works on in place", "compiled, run once by hand; ncnn a4d2ea1"},
    {"MNN", "platform/runtimes/mnn/mnn_tap.hpp", "the callbacks of a session or executor", "inputs, outputs",
     "no: a fused operator has the name of one", "a branch a run", "MNN's copy of each tensor to the CPU",
     "compiled, not run; MNN 4d40bdb"},
    {"ExecuTorch", "platform/runtimes/executorch/executorch_tap.hpp",
     "an event tracer, in builds with `ET_EVENT_TRACER_ENABLED`", "outputs; all arguments of a delegate",
     "what a delegate logs of itself", "virtual calls for each instruction", "nothing besides",
     "compiled, not run; executorch cff6f4d"},
    {"MindSpore Lite", "platform/runtimes/mindspore_lite/mindspore_lite_tap.hpp",
     "the callbacks of `Predict`", "inputs, outputs; none on a device",
     "no: a fused kernel has the name of one", "a branch a run", "a copy of each tensor",
     "compiled against declarations alone, not run; mindspore-lite 828a1f1"},
    {"ESP-DL", "platform/runtimes/esp_dl/esp_dl_tap.hpp",
     "modules of the types that a program names, wrapped", "inputs, outputs; quantised, as they lie",
     "no: a fused module is one operator", "a call and a branch a module",
     "a second record where the module writes to its inputs", "compiled, not run; esp-dl 12c0616"},
};

}  // namespace

std::span<const Runtime> runtimes() {
  return kRuntimes;
}

}  // namespace opdump::tool
