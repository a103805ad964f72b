#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

// What the adapter calls of LiteRT, in our own words, and an interpreter made of it that calls in the order
// of the real one. Checked against revision f677904 of google-ai-edge/LiteRT.

enum TfLiteStatus { kTfLiteOk = 0, kTfLiteError = 1 };
enum TfLiteType { kTfLiteFloat32 = 1, kTfLiteInt32 = 2, kTfLiteString = 5, kTfLiteInt8 = 9 };
enum TfLiteAllocationType { kTfLiteMmapRo = 1, kTfLiteArenaRw = 2, kTfLiteDynamic = 4 };

struct TfLiteIntArray {
  int size;
  int data[4];
};

union TfLitePtrUnion {
  char* raw;
  void* data;
};

struct TfLiteSparsity;

struct TfLiteTensor {
  TfLiteType type;
  TfLitePtrUnion data;
  TfLiteIntArray* dims;
  TfLiteAllocationType allocation_type;
  std::size_t bytes;
  const char* name;
  bool data_is_stale;
  bool is_variable;
  TfLiteSparsity* sparsity;
};

struct TfLiteNode {
  TfLiteIntArray* inputs;
  TfLiteIntArray* outputs;
};

struct TfLiteRegistration {};

namespace tflite {

class Profiler {
 public:
  enum class EventType { DEFAULT = 1, OPERATOR_INVOKE_EVENT = 2, DELEGATE_OPERATOR_INVOKE_EVENT = 4 };
  virtual ~Profiler() {}
  virtual std::uint32_t BeginEvent(const char* tag, EventType type, std::int64_t one, std::int64_t two) = 0;
  std::uint32_t BeginEvent(const char* tag, EventType type, std::int64_t one) {
    return BeginEvent(tag, type, one, 0);
  }
  virtual void EndEvent(std::uint32_t event, std::int64_t, std::int64_t) { EndEvent(event); }
  virtual void EndEvent(std::uint32_t event) = 0;
};

class Subgraph {
 public:
  TfLiteTensor* tensor(int index) { return &tensors.at(static_cast<std::size_t>(index)); }
  const std::pair<TfLiteNode, TfLiteRegistration>* node_and_registration(int index) const {
    return &nodes.at(static_cast<std::size_t>(index));
  }
  TfLiteStatus EnsureTensorDataIsReadable(int index) {
    tensor(index)->data_is_stale = false;
    if (fetch) fetch(index);
    return fetch ? kTfLiteOk : kTfLiteError;
  }

  // The fake's own:
  std::vector<TfLiteTensor> tensors;
  std::vector<std::pair<TfLiteNode, TfLiteRegistration>> nodes;
  std::vector<std::pair<std::string, std::function<void()>>> kernels;  ///< type and work of each node
  std::function<void(int)> fetch;    ///< what a delegate does for a stale tensor
  std::function<void()> after_each;  ///< what comes between a kernel and EndEvent
};

class Interpreter {
 public:
  void AddProfiler(Profiler* profiler) { profiler_ = profiler; }
  Subgraph* subgraph(int index) { return &subgraphs.at(static_cast<std::size_t>(index)); }
  TfLiteStatus Invoke() {
    run(0);
    return kTfLiteOk;
  }

  /// As Subgraph::InvokeImpl: an event of the whole subgraph, in it one of each node in the order of the
  /// plan.
  void run(int index) {
    using Type = Profiler::EventType;
    const auto begin = [this](const char* tag, Type type, std::int64_t one, std::int64_t two) {
      return profiler_ == nullptr ? 0 : profiler_->BeginEvent(tag, type, one, two);
    };
    const auto end = [this](std::uint32_t event) {
      if (profiler_ != nullptr) profiler_->EndEvent(event);
    };
    const std::uint32_t whole = begin("Invoke", Type::DEFAULT, 0, index);
    Subgraph& graph = *subgraph(index);
    for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
      const std::uint32_t node = begin(graph.kernels[i].first.c_str(), Type::OPERATOR_INVOKE_EVENT,
                                       static_cast<std::int64_t>(i), index);
      const std::uint32_t inner = begin("inner", Type::DELEGATE_OPERATOR_INVOKE_EVENT, 0, index);
      graph.kernels[i].second();
      end(inner);
      if (graph.after_each) graph.after_each();
      end(node);
    }
    end(whole);
  }

  std::vector<Subgraph> subgraphs;

 private:
  Profiler* profiler_ = nullptr;
};

}  // namespace tflite
