#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

// What the adapter calls of MindSpore Lite, in our own words, and a model made of it that calls in the order
// of the real one. Checked against revision 828a1f1 of mindspore-ai/mindspore-lite.

namespace mindspore {

enum class DataType : int {
  kTypeUnknown = 0,
  kObjectTypeString = 12,
  kNumberTypeBool = 30,
  kNumberTypeInt8 = 32,
  kNumberTypeInt16 = 33,
  kNumberTypeInt32 = 34,
  kNumberTypeInt64 = 35,
  kNumberTypeUInt8 = 37,
  kNumberTypeUInt16 = 38,
  kNumberTypeUInt32 = 39,
  kNumberTypeUInt64 = 40,
  kNumberTypeFloat16 = 42,
  kNumberTypeFloat32 = 43,
  kNumberTypeFloat64 = 44,
  kNumberTypeBFloat16 = 45
};

enum Format : std::int64_t { NCHW = 0, NHWC = 1, NHWC4 = 2, HW4 = 10, NC4 = 12, NC4HW4 = 13 };

class Status {
 public:
  explicit Status(bool ok) : ok_(ok) {}
  bool IsOk() const { return ok_; }

 private:
  bool ok_;
};

class MSTensor {
 public:
  MSTensor(enum DataType type, std::vector<std::int64_t> shape, void* data, std::size_t bytes,
           mindspore::Format format = NHWC, bool device = false)
      : impl_(new Impl{type, shape, data, bytes, format, device}) {}
  explicit MSTensor(std::nullptr_t) {}

  enum DataType DataType() const { return impl_->type; }
  const std::vector<std::int64_t>& Shape() const { return impl_->shape; }
  std::shared_ptr<const void> Data() const {
    return std::shared_ptr<const void>(impl_->data, [](const void*) {});
  }
  std::size_t DataSize() const { return impl_->bytes; }
  bool IsDevice() const { return impl_->device; }
  bool operator==(std::nullptr_t) const { return impl_ == nullptr; }
  mindspore::Format format() const { return impl_->format; }

 private:
  struct Impl {
    enum DataType type;
    std::vector<std::int64_t> shape;
    void* data;
    std::size_t bytes;
    mindspore::Format format;
    bool device;
  };
  std::shared_ptr<Impl> impl_;
};

struct MSCallBackParam {
  std::string node_name;
  std::string node_type;
};

using MSKernelCallBack =
    std::function<bool(const std::vector<MSTensor>&, const std::vector<MSTensor>&, const MSCallBackParam&)>;

struct Kernel {
  MSCallBackParam name;
  std::vector<MSTensor> inputs;
  std::vector<MSTensor> outputs;
  std::function<void()> work;
};

class Model {
 public:
  /// Kernels of one lane run one behind the other on a thread of its own.
  Status Predict(const std::vector<MSTensor>&, std::vector<MSTensor>*,
                 const MSKernelCallBack& before = nullptr, const MSKernelCallBack& after = nullptr) {
    std::vector<std::thread> threads;
    for (const std::vector<Kernel>& lane : lanes) {
      threads.emplace_back([&] {
        for (const Kernel& kernel : lane) {
          if (before != nullptr) before(kernel.inputs, kernel.outputs, kernel.name);
          kernel.work();
          if (after != nullptr) after(kernel.inputs, kernel.outputs, kernel.name);
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    return Status(true);
  }

  std::vector<std::vector<Kernel>> lanes;
};

}  // namespace mindspore
