// Runs models in ONNX Runtime with taps, as the lines of its standard input say:
//
//   level N | threads N | parallel N | profile PREFIX | constants 0|1 | compare BYTES | runtime VERSION
//                                       for the sessions behind it; `runtime` is the version that it gives
//                                       out
//   session NAME MODEL | memory NAME MODEL | shared NAME MODEL | again MODEL
//                                       a session of a file, of bytes in memory, with the options of the last
//                                       one, or a second one of its tap
//   input NAME TYPE FILE DIM...         of ONNX Runtime's number of a type, for the runs behind it
//   run FILE TIMES                      runs it, a step each time, and writes the outputs of the last run
//   describe FILE
//
// Prints a line for each session and run.
#include <chrono>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "platform/runtimes/onnxruntime/ort_tap.hpp"

namespace {

const char* version = nullptr;  // what the runtime is made to say
const OrtApiBase kOther = {[](std::uint32_t number) noexcept { return OrtGetApiBase()->GetApi(number); },
                           []() noexcept { return version; }};
const OrtApi& api = *OrtGetApiBase()->GetApi(22);

template <class Object>
using Owned = std::unique_ptr<Object, void (*)(Object*)>;

bool is_good(OrtStatus* status, const char* what) {
  if (status == nullptr) return true;
  std::string text = api.GetErrorMessage(status);
  api.ReleaseStatus(status);
  for (char& letter : text) letter = letter == '\n' ? ' ' : letter;
  std::cout << "failed " << what << ": " << text << std::endl;
  return false;
}

std::string contents(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream out;
  out << file.rdbuf();
  return out.str();
}

struct Settings {
  int level = ORT_ENABLE_ALL, threads = 1, parallel = 0;
  std::string profile;
  opdump::onnxruntime::Options taps;
};

class Driver {
 public:
  ~Driver() {
    close();
    if (env_ != nullptr) api.ReleaseEnv(env_);
  }

  bool obey(std::istringstream& line) {
    std::string word, name, path;
    line >> word;
    if (word == "level")
      line >> settings_.level;
    else if (word == "threads")
      line >> settings_.threads;
    else if (word == "parallel")
      line >> settings_.parallel;
    else if (word == "profile")
      line >> settings_.profile;
    else if (word == "constants")
      line >> settings_.taps.constants;
    else if (word == "compare")
      line >> settings_.taps.most_bytes_to_compare;
    else if (word == "runtime")
      version = (line >> version_, version_.c_str());
    else if (word == "session" && line >> name >> path)
      open(name, path, false);
    else if (word == "memory" && line >> name >> path)
      open(name, path, true);
    else if (word == "shared" && line >> name >> path)
      share(name, path);
    else if (word == "again" && line >> path)
      open_again(path);
    else if (word == "input")
      add_input(line);
    else if (word == "run")
      run(line);
    else if (word == "describe" && line >> path)
      dump_.describe(path);
    else
      return false;
    return true;
  }

  int stop() {
    close();
    return dump_.stop() == OPDUMP_OK ? 0 : 1;
  }

 private:
  void close() {
    if (session_ != nullptr) api.ReleaseSession(session_);
    session_ = nullptr;
    if (options_ != nullptr) api.ReleaseSessionOptions(options_);
    options_ = nullptr;
    tap_.reset();
    sharing_.reset();
    for (OrtValue* value : values_) api.ReleaseValue(value);
    names_.clear();
    values_.clear();
  }

  void open(const std::string& name, const std::string& path, bool in_memory) {
    close();
    if (env_ == nullptr) is_good(api.CreateEnv(ORT_LOGGING_LEVEL_ERROR, "driver", &env_), "env");
    is_good(api.CreateSessionOptions(&options_), "options");
    is_good(
        api.SetSessionGraphOptimizationLevel(options_, static_cast<GraphOptimizationLevel>(settings_.level)),
        "level");
    is_good(api.SetIntraOpNumThreads(options_, settings_.threads), "threads");
    if (settings_.parallel != 0) {
      is_good(api.SetSessionExecutionMode(options_, ORT_PARALLEL), "mode");
      is_good(api.SetInterOpNumThreads(options_, settings_.parallel), "threads");
    }
    if (!settings_.profile.empty())
      is_good(api.EnableProfiling(options_, settings_.profile.c_str()), "profile");
    tap_ = std::make_unique<opdump::onnxruntime::Tap>(
        dump_, name, version != nullptr ? kOther : *OrtGetApiBase(), 0, settings_.taps);
    bytes_ = in_memory ? contents(path) : std::string();
    const bool good = is_good(
        in_memory ? tap_->create_session_from_array(env_, bytes_.data(), bytes_.size(), options_, &session_)
                  : tap_->create_session(env_, path, options_, &session_),
        "session");
    if (good) std::cout << "session " << name << ' ' << tap_->taps() << std::endl;
  }

  void share(const std::string& name, const std::string& path) {
    api.ReleaseSession(session_);
    session_ = nullptr;
    sharing_ = std::move(tap_);
    tap_ = std::make_unique<opdump::onnxruntime::Tap>(dump_, name, *OrtGetApiBase(), 0, settings_.taps);
    if (is_good(tap_->create_session(env_, path, options_, &session_), "session"))
      std::cout << "session " << name << ' ' << tap_->taps() << std::endl;
  }

  void open_again(const std::string& path) {
    OrtSession* second = nullptr;
    if (!is_good(tap_->create_session(env_, path, options_, &second), "session")) return;
    api.ReleaseSession(session_);
    session_ = second;
  }

  void add_input(std::istringstream& line) {
    std::string name, path;
    int type = 0;
    line >> name >> type >> path;
    std::vector<std::int64_t> dims;
    for (std::int64_t dim = 0; line >> dim;) dims.push_back(dim);
    OrtMemoryInfo* memory = nullptr;
    is_good(api.CreateCpuMemoryInfo(OrtArenaAllocator, OrtMemTypeDefault, &memory), "memory");
    data_.push_back(std::make_unique<std::string>(contents(path)));
    OrtValue* value = nullptr;
    is_good(
        api.CreateTensorWithDataAsOrtValue(memory, data_.back()->data(), data_.back()->size(), dims.data(),
                                           dims.size(), static_cast<ONNXTensorElementDataType>(type), &value),
        "input");
    api.ReleaseMemoryInfo(memory);
    set(name, value);
  }

  void set(const std::string& name, OrtValue* value) {
    for (std::size_t i = 0; i < names_.size(); ++i) {
      if (names_[i] != name) continue;
      api.ReleaseValue(values_[i]);
      values_[i] = value;
      return;
    }
    names_.push_back(name);
    values_.push_back(value);
  }

  void run(std::istringstream& line) {
    std::string path;
    int times = 1;
    line >> path >> times;
    if (session_ == nullptr) return;
    OrtAllocator* allocator = nullptr;
    is_good(api.GetAllocatorWithDefaultOptions(&allocator), "allocator");
    std::size_t count = 0;
    is_good(api.SessionGetOutputCount(session_, &count), "outputs");
    std::vector<const char*> inputs, outputs;
    for (const std::string& name : names_) inputs.push_back(name.c_str());
    for (std::size_t i = 0; i < count; ++i) {
      char* name = nullptr;
      is_good(api.SessionGetOutputName(session_, i, allocator, &name), "output");
      outputs.push_back(name);
    }
    std::vector<OrtValue*> values(count);
    double least = 1e9;
    for (int i = 0; i < times; ++i) {
      for (OrtValue*& value : values) {
        if (value != nullptr) api.ReleaseValue(value);
        value = nullptr;
      }
      const auto step = tap_->step();
      const auto began = std::chrono::steady_clock::now();
      if (!is_good(api.Run(session_, nullptr, inputs.data(), values_.data(), inputs.size(), outputs.data(),
                           count, values.data()),
                   "run"))
        return;
      const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - began;
      if (took.count() < least) least = took.count();
    }
    write(path, outputs, values);
    std::cout << "run " << least << std::endl;
  }

  /// A line of name, type, bytes and dims, and the elements, for each output that is a tensor of numbers.
  static void write(const std::string& path, const std::vector<const char*>& names,
                    const std::vector<OrtValue*>& values) {
    std::ofstream file(path, std::ios::binary);
    for (std::size_t i = 0; i < names.size(); ++i) {
      int is_tensor = 0;
      const Owned<OrtValue> value(values[i], api.ReleaseValue);
      if (!is_good(api.IsTensor(values[i], &is_tensor), "kind") || is_tensor == 0) continue;
      OrtTensorTypeAndShapeInfo* shape = nullptr;
      ONNXTensorElementDataType type{};
      std::size_t rank = 0, bytes = 0;
      void* data = nullptr;
      is_good(api.GetTensorTypeAndShape(values[i], &shape), "shape");
      is_good(api.GetTensorElementType(shape, &type), "type");
      is_good(api.GetDimensionsCount(shape, &rank), "rank");
      std::vector<std::int64_t> dims(rank);
      is_good(api.GetDimensions(shape, dims.data(), rank), "dims");
      api.ReleaseTensorTypeAndShapeInfo(shape);
      if (type == ONNX_TENSOR_ELEMENT_DATA_TYPE_STRING) continue;
      is_good(api.GetTensorSizeInBytes(values[i], &bytes), "bytes");
      is_good(api.GetTensorMutableData(values[i], &data), "data");
      file << names[i] << ' ' << static_cast<int>(type) << ' ' << bytes;
      for (const std::int64_t dim : dims) file << ' ' << dim;
      file << '\n';
      file.write(static_cast<const char*>(data), static_cast<std::streamsize>(bytes));
    }
  }

  Settings settings_;
  std::string version_, bytes_;
  opdump::attach::Dump dump_;
  OrtEnv* env_ = nullptr;
  OrtSessionOptions* options_ = nullptr;
  OrtSession* session_ = nullptr;
  std::unique_ptr<opdump::onnxruntime::Tap> tap_;
  std::unique_ptr<opdump::onnxruntime::Tap> sharing_;  // whose options tap_ has
  std::vector<std::string> names_;
  std::vector<OrtValue*> values_;
  std::vector<std::unique_ptr<std::string>> data_;
};

}  // namespace

int main() {
  Driver driver;
  for (std::string line; std::getline(std::cin, line);) {
    std::istringstream words(line);
    if (!driver.obey(words)) {
      std::cerr << "not understood: " << line << '\n';
      return 2;
    }
  }
  return driver.stop();
}
