#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

// What the adapter calls of ExecuTorch, in our own words, and a method made of it that calls in the order of
// the real one. Checked against revision cff6f4d of pytorch/executorch.

typedef std::uint64_t et_timestamp_t;

namespace executorch {
namespace runtime {

template <class T>
class ArrayRef {
 public:
  ArrayRef(const std::vector<T>& items) : first_(items.data()), count_(items.size()) {}
  const T* begin() const { return first_; }
  const T* end() const { return first_ + count_; }

 private:
  const T* first_;
  std::size_t count_;
};

template <class T>
class Result {
 public:
  Result(T value) : value_(value) {}
  bool ok() const { return true; }
  T get() const { return value_; }

 private:
  T value_;
};

}  // namespace runtime

namespace aten {

template <class T>
using ArrayRef = runtime::ArrayRef<T>;

enum class ScalarType : std::int8_t {
  Byte = 0,
  Char = 1,
  Int = 3,
  Long = 4,
  Half = 5,
  Float = 6,
  UInt64 = 29
};

class Tensor {
 public:
  Tensor(void* data, ScalarType type, std::vector<int> sizes, std::vector<int> strides, int element_size)
      : data_(data), type_(type), sizes_(sizes), strides_(strides), element_size_(element_size) {}
  const void* const_data_ptr() const { return data_; }
  ScalarType scalar_type() const { return type_; }
  std::ptrdiff_t element_size() const { return element_size_; }
  const ArrayRef<int> sizes() const { return sizes_; }
  const ArrayRef<int> strides() const { return strides_; }

 private:
  void* data_;
  ScalarType type_;
  std::vector<int> sizes_, strides_;
  int element_size_;
};

}  // namespace aten

namespace runtime {

class EValue {
 public:
  EValue(aten::Tensor tensor) : value_(std::move(tensor)) {}
  EValue(std::vector<aten::Tensor> tensors) : value_(std::move(tensors)) {}
  EValue(std::int64_t number) : value_(number) {}
  bool isTensor() const { return value_.index() == 0; }
  bool isTensorList() const { return value_.index() == 1; }
  const aten::Tensor& toTensor() const { return std::get<0>(value_); }
  ArrayRef<aten::Tensor> toTensorList() const { return std::get<1>(value_); }

 private:
  std::variant<aten::Tensor, std::vector<aten::Tensor>, std::int64_t> value_;
};

typedef std::uint32_t AllocatorID;
typedef std::int32_t ChainID;
typedef std::uint32_t DebugHandle;
typedef std::int32_t DelegateDebugIntId;
constexpr ChainID kUnsetChainId = -1;
constexpr DebugHandle kUnsetDebugHandle = 0;
enum class DelegateDebugIdType { kNone, kInt, kStr };
enum class LoggedEValueType { kIntermediateOutput = 0, kProgramOutput = 1 };
enum class EventTracerDebugLogLevel { kNoLogging, kProgramOutputs, kIntermediateOutputs };
class EventTracerFilterBase;

struct EventTracerEntry {
  std::int64_t event_id;
  ChainID chain_id;
  DebugHandle debug_handle;
  et_timestamp_t start_time;
  DelegateDebugIdType delegate_event_id_type;
};

class EventTracer {
 public:
  virtual void create_event_block(const char* name) = 0;
  virtual EventTracerEntry start_profiling(const char* name, ChainID chain = kUnsetChainId,
                                           DebugHandle handle = kUnsetDebugHandle) = 0;
  virtual EventTracerEntry start_profiling_delegate(const char* name, DelegateDebugIntId number) = 0;
  virtual void end_profiling_delegate(EventTracerEntry entry, const void* data = nullptr,
                                      std::size_t bytes = 0) = 0;
  virtual void log_profiling_delegate(const char* name, DelegateDebugIntId number, et_timestamp_t start,
                                      et_timestamp_t end, const void* data = nullptr,
                                      std::size_t bytes = 0) = 0;
  virtual void end_profiling(EventTracerEntry entry) = 0;
  virtual void track_allocation(AllocatorID id, std::size_t size) = 0;
  virtual AllocatorID track_allocator(const char* name) = 0;
  virtual Result<bool> log_evalue(const EValue& value, LoggedEValueType type) = 0;
  virtual Result<bool> log_intermediate_output_delegate(const char* name, DelegateDebugIntId number,
                                                        const aten::Tensor& output) = 0;
  virtual Result<bool> log_intermediate_output_delegate(const char* name, DelegateDebugIntId number,
                                                        const ArrayRef<aten::Tensor> output) = 0;
  virtual Result<bool> log_intermediate_output_delegate(const char* name, DelegateDebugIntId number,
                                                        const int& output) = 0;
  virtual Result<bool> log_intermediate_output_delegate(const char* name, DelegateDebugIntId number,
                                                        const bool& output) = 0;
  virtual Result<bool> log_intermediate_output_delegate(const char* name, DelegateDebugIntId number,
                                                        const double& output) = 0;
  virtual void set_delegation_intermediate_output_filter(EventTracerFilterBase* filter) = 0;
  virtual ~EventTracer() {}

  void set_chain_debug_handle(ChainID chain, DebugHandle handle) {
    chain_ = chain;
    handle_ = handle;
  }
  void set_event_tracer_debug_level(EventTracerDebugLogLevel level) { level_ = level; }
  EventTracerDebugLogLevel event_tracer_debug_level() { return level_; }
  ChainID current_chain_id() { return chain_; }
  DebugHandle current_debug_handle() { return handle_; }

 private:
  ChainID chain_ = kUnsetChainId;
  DebugHandle handle_ = kUnsetDebugHandle;
  EventTracerDebugLogLevel level_ = EventTracerDebugLogLevel::kNoLogging;
};

/// An instruction: a kernel by its name, or, without one, a delegate.
struct Instruction {
  std::string kernel;
  std::function<bool(EventTracer&)> work;  ///< false: it fails
  std::vector<EValue> logged;
};

class Method {
 public:
  bool execute(EventTracer& tracer) {
    tracer.create_event_block("Execute");
    const EventTracerEntry whole = tracer.start_profiling("Method::execute");
    for (std::size_t chain = 0; chain < chains.size(); ++chain) {
      for (std::size_t i = 0; i < chains[chain].size(); ++i) {
        tracer.set_chain_debug_handle(static_cast<ChainID>(chain), static_cast<DebugHandle>(i));
        const bool worked = run(chains[chain][i], tracer);
        tracer.set_chain_debug_handle(kUnsetChainId, kUnsetDebugHandle);
        if (!worked) return false;
      }
    }
    tracer.end_profiling(whole);
    if (tracer.event_tracer_debug_level() >= EventTracerDebugLogLevel::kProgramOutputs)
      tracer.log_evalue(chains.back().back().logged.back(), LoggedEValueType::kProgramOutput);
    return true;
  }

  std::vector<std::vector<Instruction>> chains;

 private:
  static bool run(const Instruction& instruction, EventTracer& tracer) {
    const bool is_kernel = !instruction.kernel.empty();
    const EventTracerEntry call = tracer.start_profiling(is_kernel ? "OPERATOR_CALL" : "DELEGATE_CALL");
    const std::string name = "native_call_" + instruction.kernel;
    const EventTracerEntry native = is_kernel ? tracer.start_profiling(name.c_str()) : EventTracerEntry{};
    const bool worked = instruction.work(tracer);
    for (const EValue& value : instruction.logged) {
      if (tracer.event_tracer_debug_level() >= EventTracerDebugLogLevel::kIntermediateOutputs)
        tracer.log_evalue(value, LoggedEValueType::kIntermediateOutput);
    }
    if (is_kernel) tracer.end_profiling(native);
    tracer.end_profiling(call);
    return worked;
  }
};

}  // namespace runtime
}  // namespace executorch
