#pragma once
#include <doctest/doctest.h>

#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "platform/opencl/opencl_memory.hpp"

namespace opdump::tests {

/// An object of OpenCL, released in the end.
template <class Object, cl_int (*kRelease)(Object)>
class Owned {
 public:
  Owned() = default;
  explicit Owned(Object object) : object_(object) {}
  Owned(Owned&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  Owned& operator=(Owned&& other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  ~Owned() {
    if (object_ != nullptr) kRelease(object_);
  }
  Object get() const { return object_; }
  Object* put() { return &object_; }

 private:
  Object object_ = nullptr;
};

using Context = Owned<cl_context, clReleaseContext>;
using Queue = Owned<cl_command_queue, clReleaseCommandQueue>;
using Buffer = Owned<cl_mem, clReleaseMemObject>;
using Event = Owned<cl_event, clReleaseEvent>;

/// All devices of all platforms.
inline std::vector<cl_device_id> all_devices() {
  cl_platform_id platforms[8];
  cl_uint platform_count = 0;
  if (clGetPlatformIDs(8, platforms, &platform_count) != CL_SUCCESS) return {};
  std::vector<cl_device_id> devices;
  for (cl_uint i = 0; i < platform_count; ++i) {
    cl_device_id found[8];
    cl_uint count = 0;
    if (clGetDeviceIDs(platforms[i], CL_DEVICE_TYPE_ALL, 8, found, &count) != CL_SUCCESS) continue;
    devices.insert(devices.end(), found, found + count);
  }
  return devices;
}

inline std::string name_of(cl_device_id device) {
  char name[256] = {};
  clGetDeviceInfo(device, CL_DEVICE_NAME, sizeof name - 1, name, nullptr);
  return name;
}

/// One device, with a context and a queue of its own.
class Device {
 public:
  explicit Device(cl_device_id device, bool out_of_order = false) : device_(device) {
    cl_int error = CL_SUCCESS;
    context_ = Context(clCreateContext(nullptr, 1, &device, nullptr, nullptr, &error));
    REQUIRE(error == CL_SUCCESS);
    queue_ = make_queue(out_of_order);
  }

  cl_device_id id() const { return device_; }
  cl_context context() const { return context_.get(); }
  cl_command_queue queue() const { return queue_.get(); }

  Queue make_queue(bool out_of_order) const {
    cl_int error = CL_SUCCESS;
    Queue queue(clCreateCommandQueue(
        context_.get(), device_,
        out_of_order ? cl_command_queue_properties{CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE} : 0, &error));
    REQUIRE(error == CL_SUCCESS);
    return queue;
  }

  Buffer make_buffer(const void* content, std::size_t bytes) const {
    cl_int error = CL_SUCCESS;
    Buffer buffer(clCreateBuffer(context_.get(), CL_MEM_READ_WRITE, bytes, nullptr, &error));
    REQUIRE(error == CL_SUCCESS);
    REQUIRE(clEnqueueWriteBuffer(queue(), buffer.get(), CL_TRUE, 0, bytes, content, 0, nullptr, nullptr) ==
            CL_SUCCESS);
    return buffer;
  }

  Event make_user_event() const {
    cl_int error = CL_SUCCESS;
    Event event(clCreateUserEvent(context_.get(), &error));
    REQUIRE(error == CL_SUCCESS);
    return event;
  }

 private:
  cl_device_id device_;
  Context context_;
  Queue queue_;
};

/// The loader that opdump finds at run time, once for all tests.
inline OpenclApi& loaded_api() {
  static OpenclApi api;
  if (!api.loaded()) REQUIRE(api.load() == Status::ok);
  return api;
}

}  // namespace opdump::tests
