#pragma once
#if !__has_include(<CL/cl.h>)
#error "OpenCL's headers are not there. Debian has them in opencl-c-headers."
#endif
#ifndef CL_TARGET_OPENCL_VERSION
#define CL_TARGET_OPENCL_VERSION 120
#endif
#include <CL/cl.h>
#include <dlfcn.h>

#include "opdump/base/status.hpp"

namespace opdump {
inline namespace OPDUMP_NAMESPACE {

/// The functions of OpenCL 1.2 that opdump calls, looked up at run time, so that a program which finds no
/// driver still starts. The ICD loader passes each call to the driver of the object in question, so these
/// functions may be mixed with those of a program that is linked with the loader.
class OpenclApi {
 public:
  /// Where Linux systems have the loader.
  static constexpr const char* kLoader = "libOpenCL.so.1";

  OpenclApi() = default;
  OpenclApi(const OpenclApi&) = delete;
  OpenclApi& operator=(const OpenclApi&) = delete;
  ~OpenclApi() {
    if (library_ != nullptr) ::dlclose(library_);
  }

  /// `library_missing`, or `symbol_missing` for a library that is not OpenCL 1.2; `missing()` then names it.
  /// `already_initialised` the second time. For boot: allocates.
  [[nodiscard]] Status load(const char* library = kLoader) {
    if (library_ != nullptr) return Status::already_initialised;
    library_ = ::dlopen(library, RTLD_NOW | RTLD_LOCAL);
    missing_ = library;
    if (library_ == nullptr) return Status::library_missing;
    missing_ = nullptr;
    look_up("clBuildProgram", build_program);
    look_up("clCreateBuffer", create_buffer);
    look_up("clCreateKernel", create_kernel);
    look_up("clCreateProgramWithSource", create_program);
    look_up("clEnqueueBarrierWithWaitList", enqueue_barrier);
    look_up("clEnqueueMapBuffer", enqueue_map_buffer);
    look_up("clEnqueueNDRangeKernel", enqueue_kernel);
    look_up("clEnqueueReadBuffer", enqueue_read_buffer);
    look_up("clEnqueueUnmapMemObject", enqueue_unmap);
    look_up("clFlush", flush);
    look_up("clGetCommandQueueInfo", get_queue_info);
    look_up("clGetDeviceInfo", get_device_info);
    look_up("clGetEventInfo", get_event_info);
    look_up("clGetMemObjectInfo", get_mem_info);
    look_up("clReleaseCommandQueue", release_queue);
    look_up("clReleaseEvent", release_event);
    look_up("clReleaseKernel", release_kernel);
    look_up("clReleaseMemObject", release_mem);
    look_up("clReleaseProgram", release_program);
    look_up("clRetainCommandQueue", retain_queue);
    look_up("clRetainEvent", retain_event);
    look_up("clRetainMemObject", retain_mem);
    look_up("clSetKernelArg", set_kernel_arg);
    if (missing_ == nullptr) return Status::ok;
    ::dlclose(library_);
    library_ = nullptr;
    return Status::symbol_missing;
  }

  bool loaded() const { return library_ != nullptr; }

  /// The library or function that `load` did not find; null when it found everything.
  const char* missing() const { return missing_; }

  decltype(&::clBuildProgram) build_program = nullptr;
  decltype(&::clCreateBuffer) create_buffer = nullptr;
  decltype(&::clCreateKernel) create_kernel = nullptr;
  decltype(&::clCreateProgramWithSource) create_program = nullptr;
  decltype(&::clEnqueueBarrierWithWaitList) enqueue_barrier = nullptr;
  decltype(&::clEnqueueMapBuffer) enqueue_map_buffer = nullptr;
  decltype(&::clEnqueueNDRangeKernel) enqueue_kernel = nullptr;
  decltype(&::clEnqueueReadBuffer) enqueue_read_buffer = nullptr;
  decltype(&::clEnqueueUnmapMemObject) enqueue_unmap = nullptr;
  decltype(&::clFlush) flush = nullptr;
  decltype(&::clGetCommandQueueInfo) get_queue_info = nullptr;
  decltype(&::clGetDeviceInfo) get_device_info = nullptr;
  decltype(&::clGetEventInfo) get_event_info = nullptr;
  decltype(&::clGetMemObjectInfo) get_mem_info = nullptr;
  decltype(&::clReleaseCommandQueue) release_queue = nullptr;
  decltype(&::clReleaseEvent) release_event = nullptr;
  decltype(&::clReleaseKernel) release_kernel = nullptr;
  decltype(&::clReleaseMemObject) release_mem = nullptr;
  decltype(&::clReleaseProgram) release_program = nullptr;
  decltype(&::clRetainCommandQueue) retain_queue = nullptr;
  decltype(&::clRetainEvent) retain_event = nullptr;
  decltype(&::clRetainMemObject) retain_mem = nullptr;
  decltype(&::clSetKernelArg) set_kernel_arg = nullptr;

 private:
  template <class Function>
  void look_up(const char* name, Function& function) {
    function = reinterpret_cast<Function>(::dlsym(library_, name));
    if (function == nullptr && missing_ == nullptr) missing_ = name;
  }

  void* library_ = nullptr;
  const char* missing_ = nullptr;
};

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump
