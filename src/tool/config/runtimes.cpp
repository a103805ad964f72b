#include "src/tool/config/runtimes.hpp"

namespace opdump::tool {
namespace {

constexpr Runtime kRuntimes[] = {
    {"ggml: llama.cpp, whisper.cpp and others", "platform/runtimes/ggml/ggml_tap.hpp",
     "the scheduler's callback, or `cb_eval`", "outputs; inputs that the operator does not write over",
     "yes: what a backend fuses is computed apart where it is dumped", "ggml's question before each node",
     "the graph stops behind the node, and waits for the backend", "run in the tests, ggml 0.25.1"},
    {"ONNX Runtime", "", "taps that the model editor adds to the graph", "inputs, outputs",
     "tensors that are named; the tap undoes their fusion", "nothing: no tap in the graph",
     "a copy from a device to the CPU", "not there yet"},
    {"Arm NN", "", "the debug callback", "outputs", "no: debug mode undoes fusion", "nothing: no debug layer",
     "a layer that copies behind each layer", "not there yet"},
    {"OpenCV DNN", "", "layers wrapped by the `LayerFactory`", "inputs, outputs",
     "no: a wrapped layer is not fused", "nothing: no layer wrapped", "the fusion that is lost",
     "not there yet"},
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
