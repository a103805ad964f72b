#pragma once
#include <tensorflow/lite/micro/micro_context.h>
#include <tensorflow/lite/micro/micro_interpreter.h>
#include <tensorflow/lite/micro/micro_interpreter_graph.h>
#include <tensorflow/lite/micro/micro_op_resolver.h>
#include <tensorflow/lite/schema/schema_generated.h>

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string_view>

#include "opdump/parts/op_table.hpp"
#include "opdump/recorder.hpp"

/// Dumps what TensorFlow Lite Micro computes, without a change to it, in memory of a fixed size, without a
/// heap. C++20; needs TFLite Micro's headers. The tap stands between the interpreter and the program's
/// resolver: of the types that some step captures, it is called in the kernel's place.
///
///     opdump::tflm::Tap<Memory, 64> tap(resolver, *model, recorder);  // resolver: MicroMutableOpResolver
///     tap.load(session, "net");                                       // after set_config
///     tflite::MicroInterpreter interpreter(model, tap, arena, sizeof arena);
///     interpreter.AllocateTensors();
///     for (;;) tap.invoke(interpreter);                               // in the place of Invoke: one step
///
/// Read at revision 90b983c of tensorflow/tflite-micro; run there by hand, with micro_speech.
namespace opdump::tflm {

/// The elements of type strings, resource and variant have no fixed size; tensors of them are refused.
constexpr DType dtype_of(TfLiteType type) {
  using enum DType;
  constexpr DType kDTypes[] = {undefined,  float32,  int32,     uint8,     int64,         undefined,
                               boolean,    int16,    complex64, int8,      float16,       float64,
                               complex128, uint64,   undefined, undefined, uint32,        uint16,
                               int4,       bfloat16, int2,      uint4,     float8_e4m3fn, float8_e5m2};
  return static_cast<std::size_t>(type) < std::size(kDTypes) ? kDTypes[type] : undefined;
}

inline std::string_view text_of(const flatbuffers::String* text) {
  return text == nullptr ? std::string_view() : std::string_view(text->c_str(), text->size());
}

/// The type of operators of `code`, in the words of the schema ("CONV_2D"), or a custom operator's own.
inline std::string_view type_of(const tflite::OperatorCode& code) {
  // Files have either field: small codes in the older one alone.
  const auto old_code = static_cast<tflite::BuiltinOperator>(code.deprecated_builtin_code());
  const tflite::BuiltinOperator builtin = code.builtin_code() > old_code ? code.builtin_code() : old_code;
  return builtin == tflite::BuiltinOperator_CUSTOM ? text_of(code.custom_code())
                                                   : tflite::EnumNameBuiltinOperator(builtin);
}

/// Up to `Ops` operators in all subgraphs, of up to `Types` codes, each with up to `Tensors` inputs and
/// outputs. An operator has the name of its first output, or, without one, of its type; its task is its
/// place in its subgraph, its stream the subgraph. `NameBytes` as for `OpTable`.
///
/// Inputs are captured after the operator has run, with its outputs. Where it writes to an input, as to the
/// variable tensor of a recurrent one, inputs are captured before that, in a record of their own. Inputs that
/// are left out, and compressed weights, are given as tensors without elements.
/// Threads: those of the recorder. Outlives the interpreter; the model and its resolver outlive the tap.
template <class Memory, std::size_t Ops, std::size_t Types = 32, std::size_t Tensors = 16,
          std::size_t NameBytes = 0>
class Tap final : public tflite::MicroOpResolver {
 public:
  Tap(const tflite::MicroOpResolver& resolver, const tflite::Model& model, BasicRecorder<Memory>& recorder)
      : resolver_(resolver), model_(model), recorder_(recorder) {}
  Tap(const Tap&) = delete;
  Tap& operator=(const Tap&) = delete;

  /// Describes the model's operators and loads them into `session`. What is loaded before AllocateTensors
  /// leaves the kernels of all types untouched that no step captures. `no_memory` for more than `Ops`
  /// operators or `Types` codes; else as `BasicSession::load_model`. Inference goes on without a dump then.
  template <class Session>
  [[nodiscard]] Status load(Session& session, std::string_view model_name, std::uint32_t id = 0) {
    const std::size_t ops = number_of(static_cast<int>(model_.subgraphs()->size()), 0);
    if (ops > Ops || model_.operator_codes()->size() > Types) return Status::no_memory;
    if (ops_.size() == 0) describe();
    const Status status = ops_.load(session, model_name, id);
    is_loaded_ = status == Status::ok;
    return status;
  }

  /// As `BasicSession::unload_model`.
  template <class Session>
  [[nodiscard]] Status unload(Session& session) {
    is_loaded_ = false;
    return ops_.unload(session);
  }

  /// Runs the model once, as a step. What the interpreter returned.
  TfLiteStatus invoke(tflite::MicroInterpreter& interpreter) {
    const bool has_step = is_loaded_ && recorder_.begin_step(ops_.plan()) == Status::ok;
    const TfLiteStatus status = interpreter.Invoke();
    if (has_step) static_cast<void>(recorder_.end_step());
    return status;
  }

  const OpTable<Ops, NameBytes>& ops() const { return ops_; }

  const TFLMRegistration* FindOp(tflite::BuiltinOperator op) const override {
    return tapped(resolver_.FindOp(op), tflite::EnumNameBuiltinOperator(op));
  }
  const TFLMRegistration* FindOp(const char* op) const override { return tapped(resolver_.FindOp(op), op); }
  tflite::TfLiteBridgeBuiltinParseFunction GetOpDataParser(tflite::BuiltinOperator op) const override {
    return resolver_.GetOpDataParser(op);
  }

 private:
  /// What the interpreter gets in the place of a kernel.
  struct Slot : TFLMRegistration {
    const TFLMRegistration* kernel = nullptr;
    const Tap* tap = nullptr;
  };

  void describe() {
    for (std::uint32_t subgraph = 0; subgraph < model_.subgraphs()->size(); ++subgraph) {
      const auto& graph = *model_.subgraphs()->Get(subgraph);
      for (std::uint32_t i = 0; graph.operators() != nullptr && i < graph.operators()->size(); ++i) {
        const auto& op = *graph.operators()->Get(i);
        const std::string_view type = type_of(*model_.operator_codes()->Get(op.opcode_index()));
        std::string_view name = type;
        if (op.outputs() != nullptr && op.outputs()->size() != 0 && op.outputs()->Get(0) >= 0)
          name = text_of(graph.tensors()->Get(static_cast<std::uint32_t>(op.outputs()->Get(0)))->name());
        // A name that repeats is kept where there is no room for another.
        static_cast<void>(ops_.add(name.empty() ? type : name, type, i, subgraph));
      }
    }
  }

  std::size_t number_of(int subgraph, int op) const {
    std::size_t number = static_cast<std::size_t>(op);
    for (std::uint32_t i = 0; i < static_cast<std::uint32_t>(subgraph); ++i) {
      const auto* const operators = model_.subgraphs()->Get(i)->operators();
      if (operators != nullptr) number += operators->size();
    }
    return number;
  }

  bool is_asked_for(std::string_view type) const {
    if (!is_loaded_) return true;
    for (std::size_t op = 0; op < ops_.size(); ++op) {
      if (ops_[op].type == type && ops_.ever_wants(op)) return true;
    }
    return false;
  }

  const TFLMRegistration* tapped(const TFLMRegistration* kernel, std::string_view type) const {
    if (kernel == nullptr || kernel->invoke == nullptr || !is_asked_for(type)) return kernel;
    for (Slot& slot : slots_) {
      if (slot.kernel == kernel) return &slot;
      if (slot.kernel != nullptr) continue;
      slot = {*kernel, kernel, this};
      slot.invoke = run;
      return &slot;
    }
    return kernel;
  }

  /// Called by the interpreter for the operator at which its graph stands.
  static TfLiteStatus run(TfLiteContext* context, TfLiteNode* node) {
    auto& graph = static_cast<tflite::MicroInterpreterGraph&>(tflite::GetMicroContext(context)->graph());
    const int subgraph = graph.GetCurrentSubgraphIndex();
    const int op = graph.GetCurrentOperatorIndex();
    const auto& entry = graph.GetAllocations()[subgraph].node_and_registrations[op];
    const Slot& slot = *static_cast<const Slot*>(entry.registration);
    const Tap& tap = *slot.tap;
    const std::size_t number = tap.number_of(subgraph, op);
    if (!tap.recorder_.wants_any(number)) return slot.kernel->invoke(context, node);
    const bool apart = tap.writes_to_inputs(context, *node, subgraph);
    if (apart) tap.capture(number, context, *node, true, false);
    const TfLiteStatus status = slot.kernel->invoke(context, node);
    if (status == kTfLiteOk) tap.capture(number, context, *node, !apart, true);
    return status;
  }

  static const TfLiteEvalTensor* tensor_at(TfLiteContext* context, const TfLiteIntArray* indices, int i) {
    const int index = indices->data[i];
    return index < 0 ? nullptr : tflite::GetMicroContext(context)->GetEvalTensor(index);
  }

  static std::uint64_t bytes_of(const TfLiteEvalTensor& tensor) {
    std::uint64_t elements = 1;
    for (int i = 0; tensor.dims != nullptr && i < tensor.dims->size; ++i)
      elements *= static_cast<std::uint32_t>(tensor.dims->data[i]);
    return (elements * codes_of(dtype_of(tensor.type)).bits + 7) / 8;
  }

  bool writes_to_inputs(TfLiteContext* context, const TfLiteNode& node, int subgraph) const {
    const auto& tensors = *model_.subgraphs()->Get(static_cast<std::uint32_t>(subgraph))->tensors();
    for (int i = 0; i < node.inputs->size; ++i) {
      const TfLiteEvalTensor* const input = tensor_at(context, node.inputs, i);
      if (input == nullptr) continue;
      if (tensors.Get(static_cast<std::uint32_t>(node.inputs->data[i]))->is_variable()) return true;
      for (int j = 0; j < node.outputs->size; ++j) {
        const TfLiteEvalTensor* const output = tensor_at(context, node.outputs, j);
        if (output == nullptr) continue;
        const Address from = address_of(input->data.raw);
        const Address to = address_of(output->data.raw);
        if (from < to + bytes_of(*output) && to < from + bytes_of(*input)) return true;
      }
    }
    return false;
  }

  void capture(std::size_t op, TfLiteContext* context, const TfLiteNode& node, bool inputs,
               bool outputs) const {
    tensors_.clear();
    Status status = Status::ok;
    for (int i = 0; inputs && i < node.inputs->size; ++i) {
      bool is_there = true;
#ifdef USE_TFLM_COMPRESSION
      is_there = !tflite::GetMicroContext(context)->IsTensorCompressed(&node, i);
#endif
      add(tensor_at(context, node.inputs, i), is_there, status);
    }
    const std::size_t input_count = tensors_.views().size();
    for (int i = 0; outputs && i < node.outputs->size; ++i)
      add(tensor_at(context, node.outputs, i), true, status);
    const auto views = tensors_.views();
    static_cast<void>(
        recorder_.capture_unless(status, op, views.first(input_count), views.subspan(input_count)));
  }

  void add(const TfLiteEvalTensor* tensor, bool is_there, Status& status) const {
    if (status != Status::ok) return;
    const int none[] = {0};
    if (tensor == nullptr || !is_there) {
      status = tensors_.add(0, 0, tensor == nullptr ? DType::uint8 : dtype_of(tensor->type), none, 1);
    } else if (dtype_of(tensor->type) == DType::undefined) {
      status = Status::unknown_dtype;
    } else {
      const auto rank = static_cast<std::size_t>(tensor->dims == nullptr ? 0 : tensor->dims->size);
      status = tensors_.add(address_of(tensor->data.raw), bytes_of(*tensor), dtype_of(tensor->type),
                            tensor->dims == nullptr ? none : tensor->dims->data, rank);
    }
  }

  const tflite::MicroOpResolver& resolver_;
  const tflite::Model& model_;
  BasicRecorder<Memory>& recorder_;
  OpTable<Ops, NameBytes> ops_;
  bool is_loaded_ = false;
  mutable Slot slots_[Types];  ///< the interpreter asks a resolver that does not change
  mutable TensorTable<Tensors, Tensors * 5> tensors_;

#ifdef TF_LITE_STATIC_MEMORY
  void operator delete(void*) {}  // links in no heap
#endif
};

}  // namespace opdump::tflm
