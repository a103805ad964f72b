#include "src/tool/judge/diverge/ort_reference.hpp"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <optional>
#include <string_view>
#include <utility>

#include "platform/runtimes/onnxruntime/ort_calls.hpp"
#include "src/attach/onnx_dtype.hpp"
#include "src/tool/judge/diverge/isolated_reference.hpp"
#include "src/tool/judge/diverge/one_node_model.hpp"
#include "src/tool/judge/diverge/ort_library.hpp"
#include "src/tool/read/dump/elements.hpp"

namespace opdump::tool {
namespace {

template <class Object>
using Owned = std::unique_ptr<Object, void (*)(Object*)>;

/// What the runtime says of a failure is the reason, and not in a log too.
constexpr OrtLoggingLevel kFatalOnly = ORT_LOGGING_LEVEL_FATAL;

std::string one_line(std::string text) {
  constexpr std::size_t kMostLetters = 400;
  if (text.size() > kMostLetters) text = text.substr(0, kMostLetters) + "...";
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

/// The same elements as another dtype of floats.
template <class To>
void change_floats(ReplayTensor& tensor, DType to, void (*read)(const std::byte*, std::size_t, To*)) {
  std::vector<std::byte> wide(tensor.bytes.size() * 8 / info(tensor.dtype).bits * sizeof(To));
  if (!wide.empty()) read(tensor.bytes.data(), wide.size() / sizeof(To), reinterpret_cast<To*>(wide.data()));
  tensor.bytes = std::move(wide);
  tensor.dtype = to;
}

bool has_bfloat16(const ReplayOp& op) {
  return std::any_of(op.inputs.begin(), op.inputs.end(), [](const std::optional<ReplayTensor>& input) {
    return input && input->dtype == DType::bfloat16;
  });
}

ReplayOp with_float32(ReplayOp op) {
  for (std::optional<ReplayTensor>& input : op.inputs) {
    if (input && input->dtype == DType::bfloat16)
      change_floats(*input, DType::float32, float_reader(DType::bfloat16));
  }
  return op;
}

/// Whether it gives something else each time.
bool is_random(const ReplayOp& op) {
  constexpr std::string_view kRandom[] = {"Bernoulli",        "Multinomial",   "RandomNormal",
                                          "RandomNormalLike", "RandomUniform", "RandomUniformLike"};
  if (std::find(std::begin(kRandom), std::end(kRandom), op.type) != std::end(kRandom)) return true;
  const auto any_bit = [&op](std::size_t i, bool otherwise) {
    if (i >= op.inputs.size() || !op.inputs[i]) return otherwise;
    const std::vector<std::byte>& bytes = op.inputs[i]->bytes;
    return std::any_of(bytes.begin(), bytes.end(), [](std::byte byte) { return byte != std::byte{0}; });
  };
  return op.type == "Dropout" && any_bit(2, false) && any_bit(1, true);  // while it trains, by its ratio
}

class OrtReference final : public OpReference {
 public:
  explicit OrtReference(OrtLibrary library) : library_(std::move(library)), calls_(library_.api) {}

  OrtReference(const OrtReference&) = delete;
  OrtReference& operator=(const OrtReference&) = delete;
  ~OrtReference() override {
    if (memory_ != nullptr) calls_->ReleaseMemoryInfo(memory_);
    if (options_ != nullptr) calls_->ReleaseSessionOptions(options_);
    if (env_ != nullptr) calls_->ReleaseEnv(env_);
  }

  bool start(std::string& reason) {
    const bool started =
        calls_.succeeds(calls_->CreateEnv(kFatalOnly, "opdump", &env_)) &&
        calls_.succeeds(calls_->CreateSessionOptions(&options_)) &&
        calls_.succeeds(calls_->SetSessionLogSeverityLevel(options_, kFatalOnly)) &&
        calls_.succeeds(calls_->SetSessionGraphOptimizationLevel(options_, ORT_DISABLE_ALL)) &&
        calls_.succeeds(calls_->SetIntraOpNumThreads(options_, 1)) &&
        calls_.succeeds(calls_->SetInterOpNumThreads(options_, 1)) &&
        calls_.succeeds(calls_->CreateCpuMemoryInfo(OrtArenaAllocator, OrtMemTypeDefault, &memory_));
    if (!started) reason = name() + " does not start: " + one_line(calls_.error());
    if (started) warm_up();
    return started;
  }

  std::string name() const override { return "onnxruntime " + library_.version; }

  bool run(const ReplayOp& op, std::vector<ReplayTensor>& outputs, std::string& reason) override {
    if (is_random(op)) {
      reason = "its result is random";
      return false;
    }
    Owned<OrtSession> session = session_of(op, reason);
    if (session != nullptr) return run_session(session.get(), op, outputs, reason);
    if (!has_bfloat16(op)) return false;
    const ReplayOp wide = with_float32(op);
    std::string other;
    session = session_of(wide, other);
    if (session == nullptr || !run_session(session.get(), wide, outputs, other)) return false;
    for (ReplayTensor& output : outputs) {
      if (output.dtype == DType::float32)
        change_floats(output, DType::float64, element_reader(DType::float32));
    }
    return true;
  }

 private:
  /// What the runtime makes once for all sessions, so that not each process has to.
  void warm_up() {
    ReplayOp op;
    op.type = "Identity";
    op.opset = 13;
    op.wanted.emplace_back("y", DType::float32);
    op.inputs.emplace_back(ReplayTensor{"x", DType::float32, {1}, std::vector<std::byte>(sizeof(float))});
    std::vector<ReplayTensor> outputs;
    std::string ignored;
    run(op, outputs, ignored);
  }

  Owned<OrtSession> session_of(const ReplayOp& op, std::string& reason) {
    std::string model;
    OrtSession* session = nullptr;
    if (one_node_model(op, nullptr, model, reason) &&
        !calls_.succeeds(
            calls_->CreateSessionFromArray(env_, model.data(), model.size(), options_, &session))) {
      reason = name() + ": " + one_line(calls_.error());
      session = nullptr;
    }
    return {session, calls_->ReleaseSession};
  }

  bool run_session(OrtSession* session, const ReplayOp& op, std::vector<ReplayTensor>& outputs,
                   std::string& reason) {
    std::vector<Owned<OrtValue>> owned;
    std::vector<const OrtValue*> inputs;
    std::vector<std::string> names;
    for (const std::optional<ReplayTensor>& input : op.inputs) {
      if (!input) continue;
      owned.push_back(value_of(*input));
      if (owned.back() == nullptr) return fail(reason);
      names.push_back(model_input_name(inputs.size()));
      inputs.push_back(owned.back().get());
    }
    std::vector<std::size_t> places;  // of the outputs that are wanted
    for (std::size_t i = 0; i < op.wanted.size(); ++i) {
      if (op.wanted[i].first.empty()) continue;
      names.push_back(model_output_name(places.size()));
      places.push_back(i);
    }
    std::vector<const char*> texts;
    for (const std::string& text : names) texts.push_back(text.c_str());
    std::vector<OrtValue*> found(places.size());
    const bool ran = calls_.succeeds(calls_->Run(session, nullptr, texts.data(), inputs.data(), inputs.size(),
                                                 texts.data() + inputs.size(), found.size(), found.data()));
    for (OrtValue* const value : found) owned.emplace_back(value, calls_->ReleaseValue);
    if (!ran) return fail(reason);
    outputs.assign(op.wanted.size(), {});
    for (std::size_t k = 0; k < places.size(); ++k) {
      outputs[places[k]].name = op.wanted[places[k]].first;
      if (!take(found[k], outputs[places[k]])) return fail(reason);
    }
    return true;
  }

  /// A value that refers to the tensor's elements, which the runtime only reads.
  Owned<OrtValue> value_of(const ReplayTensor& tensor) {
    static std::byte nothing{};  // where a tensor without elements lies
    const std::vector<std::int64_t> dims(tensor.dims.begin(), tensor.dims.end());
    void* const data = tensor.bytes.empty() ? &nothing : const_cast<std::byte*>(tensor.bytes.data());
    OrtValue* value = nullptr;
    if (!calls_.succeeds(calls_->CreateTensorWithDataAsOrtValue(
            memory_, data, tensor.bytes.size(), dims.data(), dims.size(),
            static_cast<ONNXTensorElementDataType>(onnx_of_dtype(tensor.dtype)), &value)))
      value = nullptr;
    return {value, calls_->ReleaseValue};
  }

  bool take(OrtValue* value, ReplayTensor& to) {
    int is_tensor = 0;
    if (value == nullptr || !calls_.succeeds(calls_->IsTensor(value, &is_tensor)) || is_tensor == 0)
      return calls_.fail("'" + to.name + "' is no tensor");
    OrtTensorTypeAndShapeInfo* described = nullptr;
    if (!calls_.succeeds(calls_->GetTensorTypeAndShape(value, &described))) return false;
    const Owned<OrtTensorTypeAndShapeInfo> owner(described, calls_->ReleaseTensorTypeAndShapeInfo);
    ONNXTensorElementDataType type = ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED;
    std::size_t rank = 0;
    if (!calls_.succeeds(calls_->GetTensorElementType(described, &type)) ||
        !calls_.succeeds(calls_->GetDimensionsCount(described, &rank)))
      return false;
    std::vector<std::int64_t> dims(rank);
    void* data = nullptr;
    if (!calls_.succeeds(calls_->GetDimensions(described, dims.data(), rank)) ||
        !calls_.succeeds(calls_->GetTensorMutableData(value, &data)))
      return false;
    to.dtype = dtype_of_onnx(static_cast<std::uint64_t>(type));
    if (info(to.dtype).bits == 0 || to.dtype == DType::undefined)
      return calls_.fail("the dtype of '" + to.name + "' has no number of bits");
    to.dims.assign(dims.begin(), dims.end());
    std::size_t elements = 1;
    for (const Dim dim : to.dims) elements *= static_cast<std::size_t>(dim);
    to.bytes.resize((elements * info(to.dtype).bits + 7) / 8);
    if (!to.bytes.empty()) std::memcpy(to.bytes.data(), data, to.bytes.size());
    return true;
  }

  bool fail(std::string& reason) {
    reason = name() + ": " + one_line(calls_.error());
    return false;
  }

  const OrtLibrary library_;
  onnxruntime::Calls calls_;
  OrtEnv* env_ = nullptr;
  OrtSessionOptions* options_ = nullptr;
  OrtMemoryInfo* memory_ = nullptr;
};

}  // namespace

std::unique_ptr<OpReference> open_ort(const std::string& path, std::string& reason) {
  std::optional<OrtLibrary> library = load_ort(path, reason);
  if (!library) return nullptr;
  auto reference = std::make_unique<OrtReference>(std::move(*library));
  if (!reference->start(reason)) return nullptr;
  return std::make_unique<IsolatedReference>(std::move(reference));
}

}  // namespace opdump::tool
