#pragma once
#include <cstdint>
#include <mutex>
#include <string>

#include "opdump/port/listeners.hpp"
#include "platform/ascend/nano/nano_runtime.hpp"

namespace opdump::nano {
inline namespace OPDUMP_NAMESPACE {

/// What else the executor asks of its debug library: CANN's profiling, as far as the executor takes part. The
/// work is done by libprofapi.so, which is loaded if the config has an object "profiler". Any threads.
/// Source: the executor's profiling calls and CANN's aprof_pub.h.
class Profiling {
 public:
  Profiling(LogHook say, void* context) : say_(say), context_(context) {}
  Profiling(const Profiling&) = delete;
  Profiling& operator=(const Profiling&) = delete;

  /// Starts it if the config `path` asks for it. `kParamInvalid` when that fails; the log says why.
  Code start(const char* path);
  void stop();

  Code device_set(std::uint32_t chip, std::uint32_t device);
  Code model_loaded(std::uint32_t model_id, const char* name);

  /// Whether tasks are timed now, as the profiler has asked for.
  static bool times_tasks();

 private:
  Code fail(const std::string& reason);

  const LogHook say_;
  void* const context_;
  std::mutex mutex_;
  void* library_ = nullptr;
};

/// The object that is the value of `key` at the top level of the JSON in `text`, as it stands there; empty if
/// there is none.
std::string_view object_of(std::string_view text, std::string_view key);

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::nano
