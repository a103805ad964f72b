// CANN's model calls, and the side of its operator dump that a program sees, for the simulated devices: a
// model of four operators runs, and a recorder thread hands their records to the program's callback, or
// appends them to files. Sizes, names, order and slices are as CANN's aicpu_sched and adump make them, but
// for the length of a slice: operators of the AI Core and of the AI CPU hand in their slices from threads of
// their own, so that slices of several files alternate.
//
// environment
//   SIMULATED_FILES  a directory where the files are written too, as CANN does without a callback
//   SIMULATED_FAULT  lose: the queue loses a slice in the midst of a file; repeat: it hands a slice out
//   twice; cut: the
//                    last slice of a file never comes

#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <cstring>
#include <deque>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "acl/acl.h"
#include "acl/acl_dump.h"

struct aclDataBuffer {
  void* data;
  size_t bytes;
};
struct aclmdlDataset {
  std::vector<aclDataBuffer*> buffers;
};
struct aclmdlDesc {
  uint32_t model;
};

namespace {

constexpr std::size_t kSliceBytes = 4096;
constexpr int kInvalidModel = 100016;

using Callback = int32_t (*)(const acldumpChunk*, int32_t);

struct Op {
  const char* type;
  const char* name;
  const char* fused;  ///< operator of the framework that became this one
  std::size_t output_bytes;
  bool on_aicpu;
};

constexpr Op kOps[] = {
    {"Conv2D", "block/conv 1", "conv", 30000, false},
    {"Relu", "block/relu", "relu", 500, false},
    {"TopKV2", "top.k", "topk", 9000, true},
    {"MatMulV2", "fc", "fc", 12000, false},
};

struct Model {
  std::string name;
  std::uint64_t step = 0;
};

void put_varint(std::string& to, std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) to += static_cast<char>((value & 0x7f) | 0x80);
  to += static_cast<char>(value);
}

void put(std::string& to, unsigned field, std::uint64_t value) {
  put_varint(to, field << 3);
  put_varint(to, value);
}

void put(std::string& to, unsigned field, const std::string& value) {
  put_varint(to, field << 3 | 2);
  put_varint(to, value.size());
  to += value;
}

/// A message DumpData with its length in front and the output behind it.
std::string record_of(const Op& op, std::uint64_t step, std::uint64_t now_us) {
  std::string data(op.output_bytes, '\0');
  for (std::size_t i = 0; i < data.size(); ++i)
    data[i] = static_cast<char>(i * 7 + i / 256 + step + op.name[0]);
  std::string dims;
  put_varint(dims, data.size());
  std::string shape;
  put(shape, 1, dims);
  std::string original;
  put(original, 1, std::string(op.fused));
  std::string output;
  put(output, 1, std::uint64_t{4});
  put(output, 2, std::uint64_t{2});
  put(output, 3, shape);
  put(output, 4, original);
  put(output, 6, data.size());
  put(output, 9, std::uint64_t{0x1000});
  std::string message;
  put(message, 1, std::string("2.0"));
  put(message, 2, now_us);
  put(message, 3, output);
  put(message, 6, std::string(op.name));
  std::string file(8, '\0');
  const std::uint64_t bytes = message.size();
  for (unsigned i = 0; i < 8; ++i) file[i] = static_cast<char>(bytes >> (8 * i));
  return file + message + data;
}

std::string file_form(std::string name) {
  for (char& c : name) {
    if (c == ' ' || c == '.' || c == '/' || c == '\\') c = '_';
  }
  return name;
}

std::uint64_t now_us() {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1000000 + static_cast<std::uint64_t>(now.tv_nsec) / 1000;
}

class Runtime {
 public:
  static Runtime& instance() {
    static Runtime runtime;
    return runtime;
  }

  aclError init(const char* path) {
    const std::lock_guard lock(mutex_);
    if (initialised_) return ACL_ERROR_REPEAT_INITIALIZE;
    std::ifstream file(path == nullptr ? "" : path);
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    if (path != nullptr && !file) return ACL_ERROR_INVALID_FILE;
    const std::size_t key = text.find("\"dump_path\"");
    if (key != text.npos) {
      const std::size_t start = text.find('"', text.find(':', key)) + 1;
      char time_text[16];
      const time_t now = time(nullptr);
      tm local{};
      strftime(time_text, sizeof time_text, "%Y%m%d%H%M%S", localtime_r(&now, &local));
      dump_path_ = text.substr(start, text.find('"', start) - start) + "/" + time_text;
      recorder_ = std::thread([this] { record(); });
    }
    initialised_ = true;
    return ACL_SUCCESS;
  }

  aclError finalize() {
    {
      const std::lock_guard lock(mutex_);
      if (!initialised_) return ACL_ERROR_REPEAT_FINALIZE;
      initialised_ = false;
      stopping_ = true;
    }
    filled_.notify_all();
    if (recorder_.joinable()) recorder_.join();
    stopping_ = false;
    dump_path_.clear();
    return ACL_SUCCESS;
  }

  aclError load(const char* path, uint32_t* id) {
    std::error_code error;
    if (path == nullptr || id == nullptr || !std::filesystem::exists(path, error))
      return ACL_ERROR_INVALID_PARAM;
    const std::lock_guard lock(mutex_);
    *id = ++last_id_;
    models_[*id] = {std::filesystem::path(path).stem().string()};
    return ACL_SUCCESS;
  }

  aclError unload(uint32_t id) {
    const std::lock_guard lock(mutex_);
    return models_.erase(id) == 0 ? kInvalidModel : ACL_SUCCESS;
  }

  bool has(uint32_t id) {
    const std::lock_guard lock(mutex_);
    return models_.contains(id);
  }

  aclError execute(uint32_t id) {
    Model model;
    {
      const std::lock_guard lock(mutex_);
      const auto found = models_.find(id);
      if (found == models_.end()) return kInvalidModel;
      model = found->second;
      ++found->second.step;
    }
    if (dump_path_.empty()) return ACL_SUCCESS;
    int device = 0;
    if (aclrtGetDevice(&device) != ACL_SUCCESS) return ACL_ERROR_FAILURE;
    const auto dump = [&](bool on_aicpu) {
      for (std::size_t i = 0; i < std::size(kOps); ++i) {
        if (kOps[i].on_aicpu == on_aicpu) send(kOps[i], i, device, id, model);
      }
    };
    std::thread aicpu(dump, true);
    dump(false);
    aicpu.join();
    return ACL_SUCCESS;
  }

  aclError set_callback(Callback callback, int32_t flag) {
    if (callback == nullptr || flag != 0) return ACL_ERROR_FAILURE;
    Callback none = nullptr;
    callback_.compare_exchange_strong(none, callback);
    return ACL_SUCCESS;
  }
  void reset_callback() { callback_ = nullptr; }

 private:
  struct Slice {
    std::string name;
    std::string data;
    bool last;
  };

  void send(const Op& op, std::size_t task, int device, uint32_t id, const Model& model) {
    const std::uint64_t now = now_us();
    const std::string name = dump_path_ + "/" + std::to_string(device) + "/" + file_form(model.name) + "/" +
                             std::to_string(id) + "/" + std::to_string(model.step) + "/" + op.type + "." +
                             file_form(op.name) + "." + std::to_string(task) + ".0." + std::to_string(now);
    const std::string record = record_of(op, model.step, now);
    const char* const fault = getenv("SIMULATED_FAULT");
    const bool faulty = fault != nullptr && op.fused == std::string("conv") && model.step == 0;
    for (std::size_t at = 0; at < record.size(); at += kSliceBytes) {
      const Slice slice = {name, record.substr(at, kSliceBytes), at + kSliceBytes >= record.size()};
      const bool second = at == kSliceBytes;
      if (faulty && second && fault == std::string("lose")) continue;
      if (faulty && slice.last && fault == std::string("cut")) continue;
      if (faulty && second && fault == std::string("repeat")) push(slice);
      push(slice);
      std::this_thread::yield();
    }
  }

  void push(const Slice& slice) {
    const std::lock_guard lock(queue_mutex_);
    queue_.push_back(slice);
    filled_.notify_all();
  }

  void record() {
    std::unique_lock lock(queue_mutex_);
    for (;;) {
      // With a limit, as the end is told under another lock.
      filled_.wait_for(lock, std::chrono::milliseconds(5), [this] { return !queue_.empty() || stopping_; });
      if (queue_.empty()) {
        if (stopping_) return;
        continue;
      }
      const Slice slice = queue_.front();
      queue_.pop_front();
      lock.unlock();
      hand_out(slice);
      lock.lock();
    }
  }

  void hand_out(const Slice& slice) {
    if (const char* files = getenv("SIMULATED_FILES"))
      append(std::string(files) + "/" + slice.name, slice.data);
    const Callback callback = callback_;
    if (callback == nullptr) return append(slice.name, slice.data);
    const std::size_t bytes = sizeof(acldumpChunk) + slice.data.size();
    const std::unique_ptr<std::uint64_t[]> memory(new std::uint64_t[bytes / 8 + 1]());
    acldumpChunk* const chunk = reinterpret_cast<acldumpChunk*>(memory.get());
    slice.name.copy(chunk->fileName, sizeof chunk->fileName - 1);
    chunk->bufLen = static_cast<uint32_t>(slice.data.size());
    chunk->isLastChunk = slice.last ? 1 : 0;
    chunk->offset = -1;
    slice.data.copy(reinterpret_cast<char*>(chunk->dataBuf), slice.data.size());
    static_cast<void>(callback(chunk, static_cast<int32_t>(bytes)));
  }

  static void append(const std::string& path, const std::string& data) {
    std::filesystem::create_directories(std::filesystem::path(path).parent_path());
    std::ofstream(path, std::ios::binary | std::ios::app) << data;
  }

  std::mutex mutex_;
  std::map<uint32_t, Model> models_;
  uint32_t last_id_ = 0;
  bool initialised_ = false;
  std::string dump_path_;
  std::atomic<Callback> callback_{nullptr};
  std::thread recorder_;
  std::mutex queue_mutex_;
  std::condition_variable filled_;
  std::deque<Slice> queue_;
  std::atomic<bool> stopping_{false};
};

Runtime& runtime() {
  return Runtime::instance();
}

}  // namespace

#define EXPORTED extern "C" __attribute__((visibility("default")))

EXPORTED aclError aclInit(const char* configPath) {
  return runtime().init(configPath);
}
EXPORTED aclError aclFinalize() {
  return runtime().finalize();
}
EXPORTED aclError acldumpRegCallback(int32_t (*const messageCallback)(const acldumpChunk*, int32_t),
                                     int32_t flag) {
  return runtime().set_callback(messageCallback, flag);
}
EXPORTED void acldumpUnregCallback() {
  runtime().reset_callback();
}

EXPORTED aclDataBuffer* aclCreateDataBuffer(void* data, size_t size) {
  return new aclDataBuffer{data, size};
}
EXPORTED aclError aclDestroyDataBuffer(const aclDataBuffer* dataBuffer) {
  delete dataBuffer;
  return ACL_SUCCESS;
}
EXPORTED aclmdlDataset* aclmdlCreateDataset() {
  return new aclmdlDataset;
}
EXPORTED aclError aclmdlDestroyDataset(const aclmdlDataset* dataset) {
  delete dataset;
  return ACL_SUCCESS;
}
EXPORTED aclError aclmdlAddDatasetBuffer(aclmdlDataset* dataset, aclDataBuffer* dataBuffer) {
  dataset->buffers.push_back(dataBuffer);
  return ACL_SUCCESS;
}
EXPORTED aclError aclmdlLoadFromFile(const char* modelPath, uint32_t* modelId) {
  return runtime().load(modelPath, modelId);
}
EXPORTED aclError aclmdlUnload(uint32_t modelId) {
  return runtime().unload(modelId);
}
EXPORTED aclError aclmdlExecute(uint32_t modelId, const aclmdlDataset* input, aclmdlDataset* output) {
  if (input == nullptr || output == nullptr || input->buffers.size() != 1 || output->buffers.size() != 1)
    return ACL_ERROR_INVALID_PARAM;
  return runtime().execute(modelId);
}
EXPORTED aclmdlDesc* aclmdlCreateDesc() {
  return new aclmdlDesc{};
}
EXPORTED aclError aclmdlDestroyDesc(aclmdlDesc* modelDesc) {
  delete modelDesc;
  return ACL_SUCCESS;
}
EXPORTED aclError aclmdlGetDesc(aclmdlDesc* modelDesc, uint32_t modelId) {
  modelDesc->model = modelId;
  return runtime().has(modelId) ? ACL_SUCCESS : kInvalidModel;
}
EXPORTED size_t aclmdlGetNumInputs(aclmdlDesc*) {
  return 1;
}
EXPORTED size_t aclmdlGetNumOutputs(aclmdlDesc*) {
  return 1;
}
EXPORTED size_t aclmdlGetInputSizeByIndex(aclmdlDesc*, size_t) {
  return 4096;
}
EXPORTED size_t aclmdlGetOutputSizeByIndex(aclmdlDesc*, size_t) {
  return 1024;
}
