#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

// What the adapter calls of MNN, in our own words, and an interpreter made of it that calls in the order of
// the real one. Checked against revision 4d40bdb of alibaba/MNN.

enum halide_type_code_t {
  halide_type_int = 0,
  halide_type_uint = 1,
  halide_type_float = 2,
  halide_type_handle = 3,
  halide_type_bfloat = 4
};

struct halide_type_t {
  halide_type_code_t code;
  std::uint8_t bits;
  std::uint16_t lanes;
};

struct halide_buffer_t {
  std::uint64_t device;
  std::uint8_t* host;
  halide_type_t type;
};

namespace MNN {

enum ErrorCode { NO_ERROR = 0, CALL_BACK_STOP = 11 };

class Tensor {
 public:
  enum DimensionType { TENSORFLOW, CAFFE, CAFFE_C4 };

  /// On a "device": `device_values` is where only copyToHostTensor looks.
  Tensor(std::vector<int> dims, halide_type_t type, DimensionType dim_type, void* values, bool on_device)
      : shape_(dims), dim_type_(dim_type), device_(values) {
    buffer_ = {on_device ? 1u : 0u, on_device ? nullptr : static_cast<std::uint8_t*>(values), type};
  }
  Tensor(const Tensor* tensor, DimensionType type = CAFFE, bool = true)
      : shape_(tensor->shape_), dim_type_(type), memory_(tensor->bytes()) {
    buffer_ = {0, memory_.data(), tensor->getType()};
  }
  Tensor(const Tensor&) = delete;

  bool copyToHostTensor(Tensor* host) const {
    std::memcpy(host->memory_.data(), device_, bytes());
    return true;
  }
  const halide_buffer_t& buffer() const { return buffer_; }
  DimensionType getDimensionType() const { return dim_type_; }
  halide_type_t getType() const { return buffer_.type; }
  template <typename T>
  T* host() const {
    return reinterpret_cast<T*>(buffer_.host);
  }
  int dimensions() const { return static_cast<int>(shape_.size()); }
  std::vector<int> shape() const { return shape_; }

 private:
  std::size_t bytes() const {
    std::size_t bytes = static_cast<std::size_t>(buffer_.type.bits + 7) / 8;
    for (const int dim : shape_) bytes *= static_cast<std::size_t>(dim);
    return bytes;
  }

  std::vector<int> shape_;
  DimensionType dim_type_;
  void* device_ = nullptr;
  std::vector<std::uint8_t> memory_;
  halide_buffer_t buffer_{};
};

class OperatorInfo {
 public:
  OperatorInfo(std::string name, std::string type) : name_(name), type_(type) {}
  const std::string& name() const { return name_; }
  const std::string& type() const { return type_; }

 private:
  std::string name_;
  std::string type_;
};

typedef std::function<bool(const std::vector<Tensor*>&, const OperatorInfo*)> TensorCallBackWithInfo;

struct Command {
  OperatorInfo info;
  std::vector<Tensor*> inputs;
  std::vector<Tensor*> outputs;
  std::function<void()> execution;
};

class Session {
 public:
  std::vector<Command> commands;
};

class Interpreter {
 public:
  ErrorCode runSession(Session* session) const {
    for (const Command& command : session->commands) command.execution();
    return NO_ERROR;
  }
  ErrorCode runSessionWithCallBackInfo(const Session* session, const TensorCallBackWithInfo& before,
                                       const TensorCallBackWithInfo& end, bool = false) const {
    for (const Command& command : session->commands) {
      if (before(command.inputs, &command.info)) command.execution();
      if (!end(command.outputs, &command.info)) return CALL_BACK_STOP;
    }
    return NO_ERROR;
  }
};

}  // namespace MNN
