#pragma once
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "opdump/base/status.hpp"
#include "opdump/port/device_memory.hpp"
#include "opdump/types/tensor.hpp"
#include "platform/ascend/acl_api.hpp"

namespace opdump::ascend {
inline namespace OPDUMP_NAMESPACE {

/// An address of the device, as its driver takes it.
inline void* pointer_of(Address address) {
  return reinterpret_cast<void*>(static_cast<std::uintptr_t>(address));
}

/// The functions of a driver, with what calling them has shown: what the product lacks, and which call failed
/// last. Any thread may call, but for `open` and `close`.
class DriverCalls {
 public:
  /// The functions in the order of `for_each_function`, and what the product may lack besides.
  enum Call : std::uint8_t {
    kMemcpy,
    kRtMemcpy,
    kGetDevice,
    kSynchronizeStream,
    kMemcpyAsync,
    kMallocHost,
    kFreeHost,
    kCreateStream,
    kDestroyStream,
    kSynchronizeStreamWithTimeout,
    kStreamQuery,
    kMalloc,
    kFree,
    kGetOverflowStatus,
    kResetOverflowStatus,
    kGetRunMode,
    kUnaligned,
  };

  DriverCalls() = default;
  DriverCalls(const DriverCalls&) = delete;
  DriverCalls& operator=(const DriverCalls&) = delete;

  void open(const AclApi& api) { api_ = api; }

  /// Forgets what the product lacks.
  void close() { lacking_.store(0, std::memory_order_relaxed); }

  const AclApi& api() const { return api_; }

  DriverError error() const { return error_.get(); }

  /// Takes down what a call returned.
  Status check(Call call, AclError code) {
    if (code == kAclSuccess) return Status::ok;
    error_.set(call, code);
    const bool copies = call == kMemcpy || call == kRtMemcpy || call == kMemcpyAsync;
    return copies ? Status::device_copy_failed : Status::driver_failed;
  }

  /// Whether the product has turned out not to have what the call is for.
  bool lacks(Call call) const { return (lacking_.load(std::memory_order_relaxed) >> call & 1) != 0; }
  void note_lacking(Call call) { lacking_.fetch_or(1u << call, std::memory_order_relaxed); }

  /// `wrong_device` when the thread's device is another one, `driver_failed` when the driver cannot say.
  Status check_device(std::uint32_t device_id) {
    if (api_.get_device == nullptr) return Status::ok;
    std::int32_t id = -1;
    const AclError code = api_.get_device(&id);
    if (says_unsupported(code)) return Status::ok;
    if (const Status status = check(kGetDevice, code); status != Status::ok) return status;
    return id >= 0 && static_cast<std::uint32_t>(id) == device_id ? Status::ok : Status::wrong_device;
  }

  /// Whether the program runs on the device's own CPU. A nano product has no memory of the host's.
  bool runs_on_device() {
    if (api_.get_run_mode == nullptr || api_.malloc_host == nullptr) return false;
    int mode = kRunModeDevice + 1;
    const AclError code = api_.get_run_mode(&mode);
    if (!says_unsupported(code)) static_cast<void>(check(kGetRunMode, code));
    return code == kAclSuccess && mode == kRunModeDevice;
  }

  /// Tries again, without a limit, when it was the call that failed, as what is waited for may be sound.
  AclError wait_for(Stream stream, std::uint32_t limit_ms = kEndless) {
    const AclError code = wait_once(stream, limit_ms);
    if (!says_call_failed(code) || says_unsupported(code)) return code;
    static_cast<void>(check(kSynchronizeStream, code));
    return api_.synchronize_stream(stream);
  }

  /// Whether nothing is under way on the stream.
  Result<bool> is_idle(Stream stream) {
    if (api_.stream_query == nullptr) return Status::not_supported;
    int status = kStreamComplete + 1;
    const AclError code = api_.stream_query(stream, &status);
    if (says_unsupported(code)) return Status::not_supported;
    const Status asked = check(kStreamQuery, code);
    return asked == Status::ok ? Result<bool>(status == kStreamComplete) : Result<bool>(asked);
  }

  bool is_known_idle(Stream stream) {
    const Result<bool> idle = is_idle(stream);
    return idle.ok() && idle.value();
  }

 private:
  static constexpr std::uint32_t kEndless = 0xffffffff;

  static constexpr std::array<const char*, kUnaligned> kNames = [] {
    std::array<const char*, kUnaligned> names{};
    std::size_t count = 0;
    AclApi api;
    for_each_function(api, [&](const char* name, auto) { names[count++] = name; });
    return names;
  }();
  static_assert(kNames.back() != nullptr);

  AclError wait_once(Stream stream, std::uint32_t limit_ms) {
    constexpr std::uint32_t kMost = 0x7fffffff;
    if (limit_ms != kEndless && api_.synchronize_stream_with_timeout != nullptr &&
        !lacks(kSynchronizeStreamWithTimeout)) {
      const std::int32_t limit = static_cast<std::int32_t>(limit_ms < kMost ? limit_ms : kMost);
      const AclError code = api_.synchronize_stream_with_timeout(stream, limit);
      if (!says_unsupported(code)) return code;
      note_lacking(kSynchronizeStreamWithTimeout);
    }
    return api_.synchronize_stream(stream);
  }

  AclApi api_;
  std::atomic<std::uint32_t> lacking_{0};  ///< a bit for each Call
  LatestDriverError error_{kNames.data()};
};

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::ascend
