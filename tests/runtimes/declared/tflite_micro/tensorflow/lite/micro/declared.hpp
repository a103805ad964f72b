#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

// What the adapter calls of TensorFlow Lite Micro, in our own words, and a runtime made of it that calls in
// the order of the real one. Checked against revision 90b983c of tensorflow/tflite-micro.

namespace flatbuffers {

class String {
 public:
  explicit String(std::string text) : text_(std::move(text)) {}
  const char* c_str() const { return text_.c_str(); }
  std::uint32_t size() const { return static_cast<std::uint32_t>(text_.size()); }

 private:
  std::string text_;
};

template <class T>
struct Offset {};

template <class T>
class Vector {
 public:
  std::uint32_t size() const { return static_cast<std::uint32_t>(items.size()); }
  T Get(std::uint32_t i) const { return items.at(i); }
  std::vector<T> items;
};

template <class T>
class Vector<Offset<T>> {
 public:
  std::uint32_t size() const { return static_cast<std::uint32_t>(items.size()); }
  const T* Get(std::uint32_t i) const { return &items.at(i); }
  std::vector<T> items;
};

}  // namespace flatbuffers

typedef enum { kTfLiteOk = 0, kTfLiteError = 1 } TfLiteStatus;
typedef enum {
  kTfLiteNoType = 0,
  kTfLiteFloat32 = 1,
  kTfLiteInt32 = 2,
  kTfLiteString = 5,
  kTfLiteInt8 = 9
} TfLiteType;

struct TfLiteIntArray {
  int size;
  int data[8];
};

union TfLitePtrUnion {
  char* raw;
  void* data;
};

struct TfLiteEvalTensor {
  TfLitePtrUnion data;
  TfLiteIntArray* dims;
  TfLiteType type;
};

struct TfLiteNode {
  TfLiteIntArray* inputs;
  TfLiteIntArray* outputs;
};

struct TfLiteContext {
  void* impl_;
};

struct TFLMRegistration {
  void* (*init)(TfLiteContext* context, const char* buffer, std::size_t length);
  void (*free)(TfLiteContext* context, void* buffer);
  TfLiteStatus (*prepare)(TfLiteContext* context, TfLiteNode* node);
  TfLiteStatus (*invoke)(TfLiteContext* context, TfLiteNode* node);
  void (*reset)(TfLiteContext* context, void* buffer);
  std::int32_t builtin_code;
  const char* custom_name;
};

namespace tflite {

class ErrorReporter;
class BuiltinDataAllocator;

enum BuiltinOperator : std::int32_t {
  BuiltinOperator_ADD = 0,
  BuiltinOperator_RESHAPE = 22,
  BuiltinOperator_SVDF = 27,
  BuiltinOperator_CUSTOM = 32,
  BuiltinOperator_IF = 118,
  BuiltinOperator_BROADCAST_TO = 130
};

inline const char* EnumNameBuiltinOperator(BuiltinOperator op) {
  switch (op) {
    case BuiltinOperator_ADD:
      return "ADD";
    case BuiltinOperator_RESHAPE:
      return "RESHAPE";
    case BuiltinOperator_SVDF:
      return "SVDF";
    case BuiltinOperator_CUSTOM:
      return "CUSTOM";
    case BuiltinOperator_IF:
      return "IF";
    case BuiltinOperator_BROADCAST_TO:
      return "BROADCAST_TO";
  }
  return "";
}

struct OperatorCode {
  std::int8_t deprecated_builtin_code() const { return old_code; }
  const flatbuffers::String* custom_code() const { return custom.size() == 0 ? nullptr : &custom; }
  BuiltinOperator builtin_code() const { return code; }

  std::int8_t old_code = 0;
  BuiltinOperator code = BuiltinOperator_ADD;
  flatbuffers::String custom{""};
};

struct Tensor {
  const flatbuffers::String* name() const { return &text; }
  bool is_variable() const { return variable; }

  flatbuffers::String text{""};
  bool variable = false;
};

struct Operator {
  std::uint32_t opcode_index() const { return code; }
  const flatbuffers::Vector<std::int32_t>* inputs() const { return &ins; }
  const flatbuffers::Vector<std::int32_t>* outputs() const { return &outs; }

  std::uint32_t code = 0;
  flatbuffers::Vector<std::int32_t> ins, outs;
};

struct SubGraph {
  const flatbuffers::Vector<flatbuffers::Offset<Tensor>>* tensors() const { return &all_tensors; }
  const flatbuffers::Vector<flatbuffers::Offset<Operator>>* operators() const { return &all_operators; }

  flatbuffers::Vector<flatbuffers::Offset<Tensor>> all_tensors;
  flatbuffers::Vector<flatbuffers::Offset<Operator>> all_operators;
};

struct Model {
  const flatbuffers::Vector<flatbuffers::Offset<OperatorCode>>* operator_codes() const { return &codes; }
  const flatbuffers::Vector<flatbuffers::Offset<SubGraph>>* subgraphs() const { return &graphs; }

  flatbuffers::Vector<flatbuffers::Offset<OperatorCode>> codes;
  flatbuffers::Vector<flatbuffers::Offset<SubGraph>> graphs;
};

using TfLiteBridgeBuiltinParseFunction = TfLiteStatus (*)(const Operator*, ErrorReporter*,
                                                          BuiltinDataAllocator*, void**);

class MicroOpResolver {
 public:
  virtual const TFLMRegistration* FindOp(BuiltinOperator op) const = 0;
  virtual const TFLMRegistration* FindOp(const char* op) const = 0;
  virtual TfLiteBridgeBuiltinParseFunction GetOpDataParser(BuiltinOperator op) const = 0;
  virtual ~MicroOpResolver() {}
};

struct NodeAndRegistration {
  TfLiteNode node;
  const TFLMRegistration* registration;
};

struct SubgraphAllocations {
  NodeAndRegistration* node_and_registrations;
  TfLiteEvalTensor* tensors;
};

class MicroGraph {
 public:
  virtual ~MicroGraph() = default;
  virtual TfLiteStatus InvokeSubgraph(int subgraph) = 0;
};

class MicroContext {
 public:
  virtual ~MicroContext() = default;
  virtual TfLiteEvalTensor* GetEvalTensor(int tensor) = 0;
  virtual MicroGraph& graph() = 0;
};

inline MicroContext* GetMicroContext(const TfLiteContext* context) {
  return static_cast<MicroContext*>(context->impl_);
}

class MicroInterpreterGraph : public MicroGraph {
 public:
  MicroInterpreterGraph(TfLiteContext* context, const Model& model) : context_(context), model_(model) {}
  TfLiteStatus InvokeSubgraph(int subgraph) override {
    const int last_subgraph = std::exchange(subgraph_, subgraph);
    const int last_op = op_;
    const std::uint32_t count =
        model_.subgraphs()->Get(static_cast<std::uint32_t>(subgraph))->operators()->size();
    TfLiteStatus status = kTfLiteOk;
    for (op_ = 0; status == kTfLiteOk && op_ < static_cast<int>(count); ++op_) {
      NodeAndRegistration& entry = allocations_[subgraph].node_and_registrations[op_];
      status = entry.registration->invoke(context_, &entry.node);
    }
    subgraph_ = last_subgraph;
    op_ = last_op;
    return status;
  }
  int GetCurrentSubgraphIndex() { return subgraph_; }
  int GetCurrentOperatorIndex() { return op_; }
  SubgraphAllocations* GetAllocations() { return allocations_; }
  void SetSubgraphAllocations(SubgraphAllocations* allocations) { allocations_ = allocations; }

 private:
  TfLiteContext* context_;
  const Model& model_;
  SubgraphAllocations* allocations_ = nullptr;
  int subgraph_ = -1;
  int op_ = -1;
};

/// Where the tensors of each subgraph lie, which the real one plans by itself.
using Plan = std::vector<std::vector<TfLiteEvalTensor>>;

class MicroInterpreter final : private MicroContext {
 public:
  MicroInterpreter(const Model* model, const MicroOpResolver& resolver, Plan& plan)
      : model_(*model), resolver_(resolver), plan_(plan), graph_(&context_, *model) {
    context_.impl_ = static_cast<MicroContext*>(this);
  }

  TfLiteStatus AllocateTensors() {
    const auto list = [this](const flatbuffers::Vector<std::int32_t>& indices) {
      auto& array = *lists_.emplace_back(new TfLiteIntArray{static_cast<int>(indices.size()), {}});
      for (std::uint32_t i = 0; i < indices.size(); ++i) array.data[i] = indices.Get(i);
      return &array;
    };
    for (std::uint32_t i = 0; i < model_.subgraphs()->size(); ++i) {
      const SubGraph& graph = *model_.subgraphs()->Get(i);
      auto& nodes = nodes_.emplace_back();
      for (std::uint32_t j = 0; j < graph.operators()->size(); ++j) {
        const Operator& op = *graph.operators()->Get(j);
        const OperatorCode& code = *model_.operator_codes()->Get(op.opcode_index());
        const int builtin = code.code > code.old_code ? static_cast<int>(code.code) : code.old_code;
        const TFLMRegistration* const found = builtin == BuiltinOperator_CUSTOM
                                                  ? resolver_.FindOp(code.custom_code()->c_str())
                                                  : resolver_.FindOp(static_cast<BuiltinOperator>(builtin));
        if (found == nullptr) return kTfLiteError;
        nodes.push_back({{list(*op.inputs()), list(*op.outputs())}, found});
      }
    }
    for (std::size_t i = 0; i < nodes_.size(); ++i)
      allocations_.push_back({nodes_[i].data(), plan_.at(i).data()});
    graph_.SetSubgraphAllocations(allocations_.data());
    return kTfLiteOk;
  }

  TfLiteStatus Invoke() { return graph_.InvokeSubgraph(0); }

  ~MicroInterpreter() override {
    for (const TfLiteIntArray* const list : lists_) delete list;
  }

  const TFLMRegistration* registration(std::size_t op) const { return nodes_.at(0).at(op).registration; }

 private:
  TfLiteEvalTensor* GetEvalTensor(int tensor) override {
    return &plan_.at(static_cast<std::size_t>(graph_.GetCurrentSubgraphIndex()))
                .at(static_cast<std::size_t>(tensor));
  }
  MicroGraph& graph() override { return graph_; }

  const Model& model_;
  const MicroOpResolver& resolver_;
  Plan& plan_;
  TfLiteContext context_{};
  MicroInterpreterGraph graph_;
  std::vector<TfLiteIntArray*> lists_;
  std::vector<std::vector<NodeAndRegistration>> nodes_;
  std::vector<SubgraphAllocations> allocations_;
};

}  // namespace tflite
