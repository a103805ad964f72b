#pragma once
#include "platform/ascend/nano/nano_runtime.hpp"

namespace opdump::nano {
inline namespace OPDUMP_NAMESPACE {

/// The runtime that the process has: its functions are those that the program or one of its libraries
/// exports, else those of libruntime.so and libascendcl.so. The device part is libdatadump.so. Nothing is
/// looked for before it is asked for. One thread at a time, but `set_dump_flag`, `send` and `device`.
class ProcessRuntime final : public NanoRuntime {
 public:
  bool is_complete(std::string& missing) override;
  Code start(const char* path, std::string& error) override;
  Code stop() override;
  Code set_dump_flag(void* tasks, std::size_t task_bytes, std::uint32_t task) override;
  Code send(void* message, std::uint32_t bytes) override;
  std::uint32_t device() override;

 private:
  using Call = int (*)();
  using DevicePartCall = std::uint32_t (*)();
  using SetDumpFlag = std::int32_t (*)(void* tasks, std::size_t task_bytes, std::uint32_t task);
  using MessageSend = std::int32_t (*)(std::uint32_t to, std::uint32_t from, std::int32_t timeout,
                                       void* message, std::uint32_t bytes);
  using GetDevice = int (*)(std::int32_t* device);

  Code start_device_part(std::string& error);

  Call dump_init_ = nullptr;
  Call dump_deinit_ = nullptr;
  SetDumpFlag set_dump_flag_ = nullptr;
  MessageSend send_ = nullptr;
  GetDevice get_device_ = nullptr;
  void* device_part_ = nullptr;
  DevicePartCall stop_device_part_ = nullptr;
};

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::nano
