#pragma once
// LiteRT has its headers in tflite, TensorFlow in tensorflow/lite.
#if __has_include(<tflite/interpreter.h>)
#include <tflite/core/api/profiler.h>
#include <tflite/interpreter.h>
#else
#include <tensorflow/lite/core/api/profiler.h>
#include <tensorflow/lite/interpreter.h>
#endif

#include <cstddef>
#include <cstdint>
#include <vector>

#include "opdump/attach.hpp"
#include "platform/runtimes/common/tensors.hpp"
#include "platform/runtimes/common/tflite_dtypes.hpp"

/// Dumps what the interpreter of TensorFlow Lite and LiteRT computes, by its own profiler interface, without
/// a change to it. C++17; needs the runtime's own headers, and no build with profiling.
///
///     opdump::attach::Dump dump;                            // the config that OPDUMP_CONFIG names
///     opdump::tflite::Tap tap(dump, "net", *interpreter);   // stays as long as the interpreter runs
///     for (...) {
///       const auto step = tap.step();
///       interpreter->Invoke();
///     }
///
/// Read at revision f677904 of google-ai-edge/LiteRT, compiled, not run.
namespace opdump::tflite {

/// Captures the nodes of all subgraphs, also of those that run within a node. An operator has the name of its
/// node's first output, or, where that has none, of its type. Inputs are captured as they were before the
/// node ran: those that it may write over, as variable tensors, are copied first.
///
/// What a delegate takes over is one operator, unless the delegate profiles its operators itself; then it is
/// not seen, or seen after `InterpreterOptions::SetForceDelegateNodeProfiling(true)`. Tensors that a delegate
/// keeps are copied to the CPU by the interpreter. Sparse tensors are dumped as the bytes they have.
/// An interpreter made with BuiltinOpResolverWithoutDefaultDelegates has no delegate but those that the
/// program gives it.
///
/// Threads: the one that calls Invoke.
class Tap final : public ::tflite::Profiler {
 public:
  /// Adds itself to the profilers of `interpreter`, which has no call to take one away again.
  Tap(attach::Dump& dump, attach::Text model_name, ::tflite::Interpreter& interpreter, std::uint32_t id = 0)
      : interpreter_(interpreter), model_(dump, model_name, id) {
    interpreter.AddProfiler(this);
  }
  Tap(const Tap&) = delete;
  Tap& operator=(const Tap&) = delete;

  /// Around a call of Invoke, or around those of one step.
  [[nodiscard]] attach::Step step(std::uint64_t number = attach::kNextStep) { return model_.step(number); }

  attach::DynamicModel& model() { return model_; }

  /// For the interpreter: a node is about to run.
  std::uint32_t BeginEvent(const char* tag, EventType type, std::int64_t node_index,
                           std::int64_t subgraph_index) override {
    if (type != EventType::OPERATOR_INVOKE_EVENT) return kNotCaptured;
    ::tflite::Subgraph& subgraph = *interpreter_.subgraph(static_cast<int>(subgraph_index));
    const TfLiteNode& node = subgraph.node_and_registration(static_cast<int>(node_index))->first;
    const char* const op_type = tag == nullptr ? "" : tag;
    const std::uint32_t op = model_.see(name_of(subgraph, node, op_type), op_type);
    if (op == attach::kNoOp) return kNotCaptured;
    runtimes::RunningOp& running = running_.begin(op);
    for (int i = 0; i < node.inputs->size; ++i) add_input(running, subgraph, node, node.inputs->data[i]);
    nodes_.push_back({&subgraph, static_cast<int>(node_index)});
    return kCaptured;
  }

  /// It has run. Dynamic outputs have their memory only now.
  void EndEvent(std::uint32_t event) override {
    if (event != kCaptured || nodes_.empty()) return;
    const Place place = nodes_.back();
    runtimes::RunningOp& running = running_.top();
    const TfLiteNode& node = place.subgraph->node_and_registration(place.node)->first;
    for (int i = 0; i < node.outputs->size; ++i) {
      const int index = node.outputs->data[i];
      if (const TfLiteTensor* const tensor = readable(*place.subgraph, index)) {
        add(running.outputs, *tensor, tensor->data.raw);
      } else {
        runtimes::add_absent(running.outputs);
      }
    }
    model_.capture(running.number, running.inputs, running.outputs);
    nodes_.pop_back();
    running_.pop();
  }

  using ::tflite::Profiler::BeginEvent;
  using ::tflite::Profiler::EndEvent;

 private:
  static constexpr std::uint32_t kNotCaptured = 0, kCaptured = 1;

  struct Place {
    ::tflite::Subgraph* subgraph;
    int node;
  };

  static const char* name_of(::tflite::Subgraph& subgraph, const TfLiteNode& node, const char* type) {
    if (node.outputs->size == 0 || node.outputs->data[0] < 0) return type;
    const char* const name = subgraph.tensor(node.outputs->data[0])->name;
    return name == nullptr || *name == 0 ? type : name;
  }

  /// Null for one that is left out, or that the CPU cannot read.
  static const TfLiteTensor* readable(::tflite::Subgraph& subgraph, int index) {
    if (index < 0) return nullptr;
    const TfLiteTensor* const tensor = subgraph.tensor(index);
    if (tensor->data_is_stale && subgraph.EnsureTensorDataIsReadable(index) != kTfLiteOk) return nullptr;
    return tensor->data.raw == nullptr ? nullptr : tensor;
  }

  static bool may_be_written(::tflite::Subgraph& subgraph, const TfLiteNode& node,
                             const TfLiteTensor& input) {
    // The interpreter may take the memory of dynamic tensors back before it says that the node has run.
    if (input.is_variable || input.allocation_type == kTfLiteDynamic) return true;
    for (int i = 0; i < node.outputs->size; ++i) {
      if (node.outputs->data[i] < 0) continue;
      const TfLiteTensor& output = *subgraph.tensor(node.outputs->data[i]);
      if (runtimes::overlap(input.data.raw, input.bytes, output.data.raw, output.bytes)) return true;
    }
    return false;
  }

  static void add_input(runtimes::RunningOp& running, ::tflite::Subgraph& subgraph, const TfLiteNode& node,
                        int index) {
    const TfLiteTensor* const tensor = readable(subgraph, index);
    if (tensor == nullptr) return runtimes::add_absent(running.inputs);
    const void* data = tensor->data.raw;
    if (may_be_written(subgraph, node, *tensor)) data = running.copies.add(data, tensor->bytes);
    add(running.inputs, *tensor, data);
  }

  static void add(attach::Tensors& tensors, const TfLiteTensor& tensor, const void* data) {
    const std::int32_t dtype = tflite_dtypes::of(static_cast<std::int32_t>(tensor.type));
    const TfLiteIntArray* const dims = tensor.dims;
    const runtimes::Numbers<int> own(dims->data, static_cast<std::size_t>(dims->size));
    if (tensor.sparsity != nullptr) {
      tensors.add(data, OPDUMP_UINT8, {static_cast<std::int64_t>(tensor.bytes)}).original_dims(own);
    } else {
      tensors.add(data, dtype, own, tensor.bytes);
    }
  }

  ::tflite::Interpreter& interpreter_;
  attach::DynamicModel model_;
  runtimes::RunningOps running_;
  std::vector<Place> nodes_;  ///< that run, each within the one before it
};

}  // namespace opdump::tflite
