#include "platform/ascend/nano/process_runtime.hpp"

#include <dlfcn.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

// Null where nothing that this library was linked or loaded with has them.
extern "C" {
[[gnu::weak]] int rtDumpInit(void);
[[gnu::weak]] int rtDumpDeInit(void);
[[gnu::weak]] std::int32_t rtSetTaskDescDumpFlag(void* tasks, std::size_t task_bytes, std::uint32_t task);
[[gnu::weak]] std::int32_t rtMsgSend(std::uint32_t to, std::uint32_t from, std::int32_t timeout,
                                     void* message, std::uint32_t bytes);
[[gnu::weak]] int aclrtGetDevice(std::int32_t* device);
}

namespace opdump::nano {
inline namespace OPDUMP_NAMESPACE {
namespace {

constexpr const char* kDevicePart = "libdatadump.so";

/// A function that may come from libraries that were loaded without showing their names to others.
template <class Function>
Function found(Function linked, const char* name) {
  if (linked != nullptr) return linked;
  if (void* const symbol = dlsym(RTLD_DEFAULT, name)) return reinterpret_cast<Function>(symbol);
  for (const char* library : {"libruntime.so", "libascendcl.so"}) {
    // Stays loaded: the process uses it, or nothing else does.
    void* const handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) continue;
    if (void* const symbol = dlsym(handle, name)) return reinterpret_cast<Function>(symbol);
  }
  return nullptr;
}

std::string last_error() {
  const char* const error = dlerror();
  return error == nullptr ? "unknown error" : error;
}

}  // namespace

bool ProcessRuntime::is_complete(std::string& missing) {
  const auto find = [&missing]<class Function>(Function linked, const char* name) {
    const Function function = found(linked, name);
    if (function == nullptr) missing += (missing.empty() ? "" : ", ") + std::string(name);
    return function;
  };
  dump_init_ = find(rtDumpInit, "rtDumpInit");
  dump_deinit_ = find(rtDumpDeInit, "rtDumpDeInit");
  set_dump_flag_ = find(rtSetTaskDescDumpFlag, "rtSetTaskDescDumpFlag");
  send_ = find(rtMsgSend, "rtMsgSend");
  get_device_ = found(aclrtGetDevice, "aclrtGetDevice");
  return missing.empty();
}

Code ProcessRuntime::start(const char* path, std::string& error) {
  // Our own device part looks there for what "opdump" says in the config; the vendor's does not.
  setenv("OPDUMP_DATADUMP_CONFIG", path, 0);
  const Code code = static_cast<Code>(dump_init_());
  if (code == kOk) return start_device_part(error);
  error = "rtDumpInit returned " + std::to_string(code) + ": the dump cannot be started";
  return code;
}

Code ProcessRuntime::start_device_part(std::string& error) {
  const auto fail = [&error](const std::string& reason) {
    error = std::string(kDevicePart) + ", which writes the files: " + reason;
    return kParamInvalid;
  };
  device_part_ = dlopen(kDevicePart, RTLD_NOW);
  if (device_part_ == nullptr) return fail(last_error());
  const auto init = reinterpret_cast<DevicePartCall>(dlsym(device_part_, "InitDataDump"));
  stop_device_part_ = reinterpret_cast<DevicePartCall>(dlsym(device_part_, "StopDataDump"));
  if (init == nullptr || stop_device_part_ == nullptr)
    return fail(std::string("it has no ") + (init == nullptr ? "InitDataDump" : "StopDataDump"));
  const Code code = init();
  if (code != kOk) error = "InitDataDump returned " + std::to_string(code) + ": the dump cannot be started";
  return code;
}

Code ProcessRuntime::stop() {
  const Code code = static_cast<Code>(dump_deinit_());
  if (stop_device_part_ != nullptr) stop_device_part_();
  stop_device_part_ = nullptr;
  if (device_part_ != nullptr) dlclose(device_part_);
  device_part_ = nullptr;
  return code;
}

Code ProcessRuntime::set_dump_flag(void* tasks, std::size_t task_bytes, std::uint32_t task) {
  return static_cast<Code>(set_dump_flag_(tasks, task_bytes, task));
}

/// The vendor's executor sends to its own thread.
Code ProcessRuntime::send(void* message, std::uint32_t bytes) {
  return static_cast<Code>(send_(static_cast<std::uint32_t>(syscall(SYS_gettid)), 0, 0, message, bytes));
}

std::uint32_t ProcessRuntime::device() {
  std::int32_t device = 0;
  if (get_device_ == nullptr || get_device_(&device) != 0 || device < 0) return 0;
  return static_cast<std::uint32_t>(device);
}

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::nano
