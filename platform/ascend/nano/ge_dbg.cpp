// The nine functions that CANN's nano executor looks up in libge_dbg.so. Source: the executor.

#include "platform/ascend/nano/nano_dump.hpp"
#include "platform/ascend/nano/process_runtime.hpp"
#include "platform/ascend/nano/profiling.hpp"
#include "platform/posix/impl/stderr_line.hpp"

using namespace opdump::nano;

namespace {

void say_to_stderr(void* /*context*/, std::string_view line) {
  opdump::posix::write_stderr_line("opdump: ", line);
}

/// Never destroyed: a program may unload its models while it ends.
struct Process {
  ProcessRuntime runtime;
  NanoDump dump{runtime, say_to_stderr, nullptr};
  Profiling profiling{say_to_stderr, nullptr};
};

Process& process() {
  static Process& only = *new Process;
  return only;
}

/// What `call` returns, or what the vendor's library returns where there is no memory.
template <class Call>
Code guarded(Call call) {
  try {
    return call(process());
  } catch (...) {
    say_to_stderr(nullptr, "no memory for the dump");
    return kNoMemory;
  }
}

}  // namespace

#define OPDUMP_EXPORT extern "C" [[gnu::visibility("default")]]

OPDUMP_EXPORT Code DbgInit(const char* config) {
  return guarded([=](Process& process) {
    const Code code = process.profiling.start(config);
    return code == kOk ? process.dump.init(config) : code;
  });
}

OPDUMP_EXPORT Code DbgDeInit() {
  static_cast<void>(guarded([](Process& process) {
    process.profiling.stop();
    return process.dump.deinit();
  }));
  return kOk;
}

OPDUMP_EXPORT Code DbgNotifySetDevice(std::uint32_t chip, std::uint32_t device) {
  return guarded([=](Process& process) { return process.profiling.device_set(chip, device); });
}

OPDUMP_EXPORT bool DbgGetprofEnable() {
  return Profiling::times_tasks();
}

OPDUMP_EXPORT void* DbgCreateModelHandle() {
  void* handle = nullptr;
  static_cast<void>(guarded([&](Process& process) {
    handle = process.dump.create_handle();
    return kOk;
  }));
  return handle;
}

OPDUMP_EXPORT Code DbgDumpPreProcess(ModelLoad* load, std::size_t task_bytes, char* name, void* handle) {
  return guarded([=](Process& process) { return process.dump.prepare(load, task_bytes, name, handle); });
}

OPDUMP_EXPORT Code DbgLoadModelPostProcess(std::uint32_t model_id, char* name, std::uint64_t* step,
                                           void* handle) {
  return guarded([=](Process& process) {
    const Code code = process.profiling.model_loaded(model_id, name);
    return code == kOk ? process.dump.start(model_id, step, handle) : code;
  });
}

OPDUMP_EXPORT void DbgStepIdCounterPlus(void* handle) {
  static_cast<void>(guarded([=](Process& process) {
    process.dump.step_done(handle);
    return kOk;
  }));
}

OPDUMP_EXPORT void DbgFreeLoadDumpInfo(void* handle) {
  static_cast<void>(guarded([=](Process& process) {
    process.dump.release(handle);
    return kOk;
  }));
}
