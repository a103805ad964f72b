#pragma once
#include <executorch/runtime/core/event_tracer.h>
#include <executorch/runtime/core/exec_aten/exec_aten.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "opdump/attach.hpp"
#include "platform/runtimes/common/tensors.hpp"

/// Dumps what ExecuTorch computes, as its event tracer, without a change to it. C++17; needs ExecuTorch's own
/// headers, and a runtime and kernels that were built with ET_EVENT_TRACER_ENABLED: otherwise nothing
/// arrives, which the log tells at the end.
///
///     opdump::attach::Dump dump;  // the config that OPDUMP_CONFIG names; goes after the module
///     executorch::extension::Module module("net.pte", load_mode,
///                                          std::make_unique<opdump::executorch::Tap>(dump, "net"));
///     for (...) module.forward(inputs);  // each is a step
///
/// or `program->load_method("forward", &memory, &tap)`.
///
/// Read at revision cff6f4d of pytorch/executorch, compiled, not run.
namespace opdump::executorch {

/// Of a number of PyTorch's ScalarType; OPDUMP_UNDEFINED: opdump has none.
inline std::int32_t dtype_of(::executorch::aten::ScalarType type) {
  constexpr std::int32_t kDTypes[] = {OPDUMP_UINT8,           OPDUMP_INT8,
                                      OPDUMP_INT16,           OPDUMP_INT32,
                                      OPDUMP_INT64,           OPDUMP_FLOAT16,
                                      OPDUMP_FLOAT32,         OPDUMP_FLOAT64,
                                      OPDUMP_COMPLEX32,       OPDUMP_COMPLEX64,
                                      OPDUMP_COMPLEX128,      OPDUMP_BOOLEAN,
                                      OPDUMP_QINT8,           OPDUMP_QUINT8,
                                      OPDUMP_QINT32,          OPDUMP_BFLOAT16,
                                      OPDUMP_UNDEFINED,       OPDUMP_UNDEFINED,
                                      OPDUMP_UNDEFINED,       OPDUMP_UNDEFINED,
                                      OPDUMP_UNDEFINED,       OPDUMP_UINT8,
                                      OPDUMP_UINT16,          OPDUMP_FLOAT8_E5M2,
                                      OPDUMP_FLOAT8_E4M3FN,   OPDUMP_FLOAT8_E5M2FNUZ,
                                      OPDUMP_FLOAT8_E4M3FNUZ, OPDUMP_UINT16,
                                      OPDUMP_UINT32,          OPDUMP_UINT64};
  const auto number = static_cast<std::size_t>(static_cast<std::int8_t>(type));
  return number < sizeof kDTypes / sizeof kDTypes[0] ? kDTypes[number] : std::int32_t{OPDUMP_UNDEFINED};
}

/// Adds `tensor` with its strides.
inline void add(attach::Tensors& tensors, const ::executorch::aten::Tensor& tensor) {
  if (tensor.const_data_ptr() == nullptr) return runtimes::add_absent(tensors);
  std::vector<std::int64_t> strides;
  for (const auto stride : tensor.strides())
    strides.push_back(std::int64_t{stride} * static_cast<std::int64_t>(tensor.element_size()));
  tensors.add(tensor.const_data_ptr(), dtype_of(tensor.scalar_type()), tensor.sizes()).strides(strides);
}

/// Captures the instructions of one method: outputs alone, as ExecuTorch gives no others. The type of one is
/// its kernel ("add.out"); its name has the number of the instruction behind that ("add.out_12"), which is
/// what ExecuTorch takes for its debug handle, with the number of the chain before it ("add.out_1_12") in all
/// chains but the first. A delegate is one operator, `DELEGATE_CALL`, whose inputs and outputs are given as
/// outputs, as nothing tells them apart; what it logs of its inside has the type `DELEGATE_OUTPUT`, and the
/// name or number that it gives.
///
/// Each `Method::execute` is a step. Threads: the one that executes.
class Tap final : public ::executorch::runtime::EventTracer {
 public:
  using AllocatorID = ::executorch::runtime::AllocatorID;
  using ChainID = ::executorch::runtime::ChainID;
  using DebugHandle = ::executorch::runtime::DebugHandle;
  using DelegateDebugIntId = ::executorch::runtime::DelegateDebugIntId;
  using EventTracerEntry = ::executorch::runtime::EventTracerEntry;
  using Logged = ::executorch::runtime::Result<bool>;
  using Tensor = ::executorch::aten::Tensor;
  template <class T>
  using ArrayRef = ::executorch::runtime::ArrayRef<T>;

  Tap(attach::Dump& dump, attach::Text model_name, std::uint32_t id = 0)
      : dump_(dump), model_(dump, model_name, id) {}
  Tap(const Tap&) = delete;
  Tap& operator=(const Tap&) = delete;

  /// For a program that runs a method by `Method::step`, around all instructions of a step.
  [[nodiscard]] attach::Step step(std::uint64_t number = attach::kNextStep) {
    log_if_on();
    return model_.step(number);
  }

  attach::DynamicModel& model() { return model_; }

  void create_event_block(const char* name) override {
    step_.reset();
    if (std::string_view(name) != "Execute") return;
    log_if_on();
    if (dump_.is_on()) step_.emplace(model_.step());
  }

  EventTracerEntry start_profiling(const char* name, ChainID = ::executorch::runtime::kUnsetChainId,
                                   DebugHandle = ::executorch::runtime::kUnsetDebugHandle) override {
    constexpr std::string_view kKernel = "native_call_";
    const std::string_view text = name;
    if (text == "Method::execute") return entry(kMethod);
    if (text == "OPERATOR_CALL" || text == "DELEGATE_CALL") {
      running_ = Running{name};
      return entry(kInstruction);
    }
    if (running_ && text.substr(0, kKernel.size()) == kKernel) running_->type = name + kKernel.size();
    return entry(kOther);
  }

  void end_profiling(EventTracerEntry ended) override {
    if (ended.event_id == kMethod) step_.reset();
    if (ended.event_id != kInstruction || !running_) return;
    if (running_->op != attach::kNoOp) model_.capture(running_->op, {}, outputs_);
    running_.reset();
  }

  Logged log_evalue(const ::executorch::runtime::EValue& value,
                    ::executorch::runtime::LoggedEValueType type) override {
    if (type != ::executorch::runtime::LoggedEValueType::kIntermediateOutput || !running_) return false;
    if (!running_->is_asked) {
      running_->is_asked = true;
      running_->op = model_.see(numbered(running_->type), running_->type);
      outputs_.clear();
    }
    if (running_->op == attach::kNoOp) return false;
    if (value.isTensor()) {
      add(outputs_, value.toTensor());
    } else if (value.isTensorList()) {
      for (const Tensor& tensor : value.toTensorList()) add(outputs_, tensor);
    } else {
      return false;
    }
    return true;
  }

  Logged log_intermediate_output_delegate(const char* name, DelegateDebugIntId number,
                                          const Tensor& output) override {
    return inside(name, number, [&](attach::Tensors& tensors) { add(tensors, output); });
  }
  Logged log_intermediate_output_delegate(const char* name, DelegateDebugIntId number,
                                          const ArrayRef<Tensor> output) override {
    return inside(name, number, [&](attach::Tensors& tensors) {
      for (const Tensor& tensor : output) add(tensors, tensor);
    });
  }
  Logged log_intermediate_output_delegate(const char* name, DelegateDebugIntId number,
                                          const int& output) override {
    return inside(name, number, [&](attach::Tensors& tensors) { tensors.add(&output, OPDUMP_INT32, {}); });
  }
  Logged log_intermediate_output_delegate(const char* name, DelegateDebugIntId number,
                                          const bool& output) override {
    return inside(name, number, [&](attach::Tensors& tensors) { tensors.add(&output, OPDUMP_BOOLEAN, {}); });
  }
  Logged log_intermediate_output_delegate(const char* name, DelegateDebugIntId number,
                                          const double& output) override {
    return inside(name, number, [&](attach::Tensors& tensors) { tensors.add(&output, OPDUMP_FLOAT64, {}); });
  }

  EventTracerEntry start_profiling_delegate(const char*, DelegateDebugIntId) override {
    return entry(kOther);
  }
  void end_profiling_delegate(EventTracerEntry, const void* = nullptr, std::size_t = 0) override {}
  void log_profiling_delegate(const char*, DelegateDebugIntId, et_timestamp_t, et_timestamp_t,
                              const void* = nullptr, std::size_t = 0) override {}
  void track_allocation(AllocatorID, std::size_t) override {}
  AllocatorID track_allocator(const char*) override { return 0; }
  void set_delegation_intermediate_output_filter(::executorch::runtime::EventTracerFilterBase*) override {}

 private:
  static constexpr std::int64_t kOther = 0, kMethod = 1, kInstruction = 2;

  /// An instruction, from its begin to its end.
  struct Running {
    const char* type;  ///< of its kernel, once that has begun
    bool is_asked = false;
    std::uint32_t op = attach::kNoOp;
  };

  static EventTracerEntry entry(std::int64_t event) {
    EventTracerEntry entry{};
    entry.event_id = event;
    return entry;
  }

  void log_if_on() {
    using Level = ::executorch::runtime::EventTracerDebugLogLevel;
    set_event_tracer_debug_level(dump_.is_on() ? Level::kIntermediateOutputs : Level::kNoLogging);
  }

  const std::string& numbered(const char* type) {
    name_ = type;
    if (current_chain_id() > 0) name_ += "_" + std::to_string(current_chain_id());
    return name_ += "_" + std::to_string(current_debug_handle());
  }

  template <class Add>
  bool inside(const char* name, DelegateDebugIntId number, Add&& add_output) {
    const std::string text =
        name != nullptr ? std::string(name) : numbered("DELEGATE_CALL") + "_" + std::to_string(number);
    const std::uint32_t op = model_.see(text, "DELEGATE_OUTPUT");
    if (op == attach::kNoOp) return false;
    attach::Tensors tensors;
    add_output(tensors);
    model_.capture(op, {}, tensors);
    return true;
  }

  attach::Dump& dump_;
  attach::DynamicModel model_;
  std::optional<attach::Step> step_;
  std::optional<Running> running_;
  attach::Tensors outputs_;
  std::string name_;
};

}  // namespace opdump::executorch
