#include "src/tool/judge/diverge/ort_reference.hpp"

#include <dlfcn.h>
#include <errno.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include "platform/posix/impl/trusted_variable.hpp"
#include "platform/runtimes/onnxruntime/ort_calls.hpp"
#include "src/attach/onnx_dtype.hpp"
#include "src/tool/judge/diverge/one_node_model.hpp"
#include "src/tool/read/dump/elements.hpp"

namespace opdump::tool {
namespace {

/// The functions that are used here have been in the table since the first one, and later ones came behind
/// them. Run with the libraries of 1.11.0, 1.28.2 and 1.30.0.
constexpr std::uint32_t kApi = 11;
constexpr char kOldest[] = "1.11";

constexpr char kVariable[] = "OPDUMP_ORT";

/// Null: it names nothing.
const char* named_library() {
  const char* const value = posix::trusted_variable(kVariable);
  return value != nullptr && *value != '\0' ? value : nullptr;
}

void* open_library(const std::string& file) {
  return ::dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
}

/// What the loader says of the last failure, without the file's name if it begins with that.
std::string loader_text(const std::string& file) {
  const char* const told = ::dlerror();
  std::string text = told == nullptr ? "the loader does not say why" : told;
  if (text.starts_with(file + ": ")) text.erase(0, file.size() + 2);
  return text;
}

std::optional<OrtLibrary> api_of(void* library, const std::string& file, std::string& reason) {
  const auto base_of = reinterpret_cast<const OrtApiBase* (*)()>(
      library == nullptr ? nullptr : ::dlsym(library, "OrtGetApiBase"));
  const OrtApiBase* const base = base_of == nullptr ? nullptr : base_of();
  if (base == nullptr) {
    reason = file + ": is not the library of ONNX Runtime: it has no OrtGetApiBase";
    return std::nullopt;
  }
  OrtLibrary found{base->GetApi(kApi), base->GetVersionString()};
  if (found.api != nullptr) return found;
  reason = file + ": is ONNX Runtime " + found.version + ", which is older than " + kOldest;
  return std::nullopt;
}

std::optional<OrtLibrary> load_system(std::string& reason) {
  const std::string names[] = {"libonnxruntime.so", "libonnxruntime.so.1"};
  for (const std::string& name : names) {
    if (void* const library = open_library(name); library != nullptr) return api_of(library, name, reason);
    const std::string why = loader_text(name);
    if (reason.empty()) reason = name + ": " + why;
  }
  reason += std::string("; install ONNX Runtime ") + kOldest +
            " or later, or name its library by --reference ort:FILE or by " + kVariable;
  return std::nullopt;
}

}  // namespace

bool is_ort_named() {
  return named_library() != nullptr;
}

std::optional<OrtLibrary> load_ort(const std::string& path, std::string& reason) {
  reason.clear();
  std::string file = path;
  std::string named_by;
  if (const char* const value = file.empty() ? named_library() : nullptr; value != nullptr) {
    file = value;
    named_by.append(", which ").append(kVariable).append(" names");
  }
  if (file.empty()) return load_system(reason);
  // The loader looks for a bare name elsewhere.
  const std::string opened =
      file.find('/') == std::string::npos && ::access(file.c_str(), F_OK) == 0 ? "./" + file : file;
  void* const library = open_library(opened);
  if (library == nullptr) {
    reason = file + named_by + ": " + loader_text(opened);
    return std::nullopt;
  }
  return api_of(library, file + named_by, reason);
}

namespace {

template <class Object>
using Owned = std::unique_ptr<Object, void (*)(Object*)>;

/// What the runtime says of a failure is the reason, and not in a log too.
constexpr OrtLoggingLevel kFatalOnly = ORT_LOGGING_LEVEL_FATAL;

std::string one_line(std::string text) {
  constexpr std::size_t kMostLetters = 400;
  if (text.size() > kMostLetters) text.replace(kMostLetters, text.npos, "...");
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

namespace {

/// Values as they lie in memory: both ends are the same program.
class PipeWriter {
 public:
  explicit PipeWriter(int file) : file_(file) {}

  template <class Value>
  void put(Value value) {
    put_all(std::as_bytes(std::span(&value, 1)));
  }

  /// Their number and their bytes.
  template <class Value>
  void put_list(std::span<const Value> values) {
    put<std::uint64_t>(values.size());
    put_all(std::as_bytes(values));
  }

  bool good() const { return good_; }

 private:
  void put_all(std::span<const std::byte> bytes) {
    while (good_ && !bytes.empty()) {
      const ssize_t done = write(file_, bytes.data(), bytes.size());
      if (done > 0) bytes = bytes.subspan(static_cast<std::size_t>(done));
      good_ = done > 0 || errno == EINTR;
    }
  }

  const int file_;
  bool good_ = true;
};

/// False after the end of what was written.
class PipeReader {
 public:
  explicit PipeReader(int file) : file_(file) {}

  template <class Value>
  bool get(Value& value) {
    return get_all(std::as_writable_bytes(std::span(&value, 1)));
  }

  template <class List>
  bool get_list(List& values) {
    std::uint64_t count = 0;
    if (!get(count)) return false;
    values.resize(static_cast<std::size_t>(count));
    return get_all(std::as_writable_bytes(std::span(values)));
  }

 private:
  bool get_all(std::span<std::byte> bytes) {
    while (!bytes.empty()) {
      const ssize_t done = read(file_, bytes.data(), bytes.size());
      if (done == 0 || (done < 0 && errno != EINTR)) return false;
      if (done > 0) bytes = bytes.subspan(static_cast<std::size_t>(done));
    }
    return true;
  }

  const int file_;
};

bool send(PipeWriter out, bool computed, const std::vector<ReplayTensor>& outputs,
          const std::string& reason) {
  out.put(computed);
  if (!computed) {
    out.put_list(std::span(reason.data(), reason.size()));
    return out.good();
  }
  out.put<std::uint64_t>(outputs.size());
  for (const ReplayTensor& output : outputs) {
    out.put_list(std::span(output.name.data(), output.name.size()));
    out.put(output.dtype);
    out.put_list(std::span(output.dims));
    out.put_list(std::span(output.bytes));
  }
  return out.good();
}

/// False where it was not told to the end.
bool receive(PipeReader in, bool& computed, std::vector<ReplayTensor>& outputs, std::string& reason) {
  std::uint64_t count = 0;
  if (!in.get(computed)) return false;
  if (!computed) return in.get_list(reason);
  if (!in.get(count)) return false;
  outputs.assign(static_cast<std::size_t>(count), {});
  return std::all_of(outputs.begin(), outputs.end(), [&in](ReplayTensor& output) {
    return in.get_list(output.name) && in.get(output.dtype) && in.get_list(output.dims) &&
           in.get_list(output.bytes);
  });
}

int wait_for(pid_t process) {
  int status = 0;
  while (waitpid(process, &status, 0) < 0 && errno == EINTR) {
  }
  return status;
}

}  // namespace

bool IsolatedReference::run(const ReplayOp& op, std::vector<ReplayTensor>& outputs, std::string& reason) {
  int ends[2];
  if (pipe(ends) != 0) {
    reason = std::string("no pipe: ") + strerror(errno);
    return false;
  }
  const pid_t process = fork();
  if (process == 0) {
    close(ends[0]);
    const bool computed = reference_->run(op, outputs, reason);
    _exit(send(PipeWriter(ends[1]), computed, outputs, reason) ? 0 : 1);
  }
  const int error = errno;
  close(ends[1]);
  bool computed = false;
  const bool told = process > 0 && receive(PipeReader(ends[0]), computed, outputs, reason);
  close(ends[0]);
  const int status = process > 0 ? wait_for(process) : 0;
  if (told) return computed;
  if (process < 0) {
    reason = std::string("no process for it: ") + strerror(error);
  } else if (WIFSIGNALED(status)) {
    reason = name() + " crashes: " + strsignal(WTERMSIG(status));
  } else {
    reason = name() + " ends the process with status " + std::to_string(WEXITSTATUS(status));
  }
  return false;
}

}  // namespace opdump::tool
