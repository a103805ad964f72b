#pragma once
#include <cstddef>
#include <cstdint>

#include "opdump/knobs.hpp"

namespace opdump::ascend {
inline namespace OPDUMP_NAMESPACE {

/// What opdump calls of AscendCL, the runtime of Ascend devices, declared anew: nothing of CANN is needed to
/// compile. Source: the public headers of GitHub hicann/runtime (acl_rt.h, rt_external_mem.h).
using AclError = int;
using Stream = void*;

inline constexpr AclError kAclSuccess = 0;
inline constexpr int kDeviceToHost = 2;  ///< a kind of aclrtMemcpy and of rtMemcpy
inline constexpr int kMallocNormalOnly = 2;
inline constexpr int kStreamComplete = 0;  ///< as aclrtStreamQuery has it
inline constexpr int kRunModeDevice = 0;  ///< as aclrtGetRunMode has it: the program runs on the device's CPU

inline constexpr AclError kAclApiNotSupported = 200001;
inline constexpr AclError kRtFeatureNotSupported = 207000;
inline constexpr AclError kRtWaitTimeout = 107019;
inline constexpr AclError kRtStreamSyncTimeout = 507046;
inline constexpr AclError kRtAiCoreOverflow = 207003;
inline constexpr AclError kRtVectorOverflow = 207016;
inline constexpr AclError kRtOverflow = 207017;

/// Whether that return code of a synchronisation says that the operators are over, and one overflowed.
constexpr bool says_overflow(AclError code) {
  return code == kRtAiCoreOverflow || code == kRtVectorOverflow || code == kRtOverflow;
}

constexpr bool says_unsupported(AclError code) {
  return code == kAclApiNotSupported || code == kRtFeatureNotSupported;
}

constexpr bool says_timeout(AclError code) {
  return code == kRtWaitTimeout || code == kRtStreamSyncTimeout;
}

/// Whether that return code is about the arguments of the call, such as addresses that are not aligned.
constexpr bool says_arguments(AclError code) {
  return code >= 100000 && code < 200000 && !says_timeout(code);
}

/// Whether that return code of a synchronisation is about the call, and not about what it has waited for.
constexpr bool says_call_failed(AclError code) {
  constexpr AclError kRtInternalError = 507000, kRtDriverInternalError = 507899;
  const bool refused = code < 500000 && !says_overflow(code) && !says_timeout(code);
  return code != kAclSuccess && (refused || code == kRtInternalError || code == kRtDriverInternalError);
}

/// The functions, null where the product's runtime has none. `memcpy_sync` or `rt_memcpy` there must be; nano
/// products have no more than these two, `get_device` and the streams' own `synchronize_stream`.
struct AclApi {
  AclError (*memcpy_sync)(void* to, std::size_t room, const void* from, std::size_t bytes,
                          int kind) = nullptr;
  AclError (*rt_memcpy)(void* to, std::uint64_t room, const void* from, std::uint64_t bytes,
                        int kind) = nullptr;
  AclError (*get_device)(std::int32_t* id) = nullptr;
  AclError (*synchronize_stream)(Stream stream) = nullptr;

  AclError (*memcpy_async)(void* to, std::size_t room, const void* from, std::size_t bytes, int kind,
                           Stream stream) = nullptr;
  AclError (*malloc_host)(void** memory, std::size_t bytes) = nullptr;
  AclError (*free_host)(void* memory) = nullptr;
  AclError (*create_stream)(Stream* stream) = nullptr;
  AclError (*destroy_stream)(Stream stream) = nullptr;
  AclError (*synchronize_stream_with_timeout)(Stream stream, std::int32_t ms) = nullptr;
  AclError (*stream_query)(Stream stream, int* status) = nullptr;

  AclError (*malloc)(void** memory, std::size_t bytes, int policy) = nullptr;
  AclError (*free)(void* memory) = nullptr;
  AclError (*get_overflow_status)(void* status, std::size_t bytes, Stream stream) = nullptr;
  AclError (*reset_overflow_status)(Stream stream) = nullptr;

  AclError (*get_run_mode)(int* mode) = nullptr;

  bool can_copy() const { return memcpy_sync != nullptr || rt_memcpy != nullptr; }

  /// Whether copies can go on in the background.
  bool has_async() const {
    return memcpy_async != nullptr && malloc_host != nullptr && free_host != nullptr &&
           create_stream != nullptr && destroy_stream != nullptr && synchronize_stream != nullptr;
  }

  bool has_overflow() const {
    return malloc != nullptr && free != nullptr && get_overflow_status != nullptr &&
           reset_overflow_status != nullptr && synchronize_stream != nullptr;
  }
};

/// Calls `use(name, function)` for each function of `api`, with its name in the library.
template <class Api, class Use>
constexpr void for_each_function(Api& api, Use use) {
  use("aclrtMemcpy", api.memcpy_sync);
  use("rtMemcpy", api.rt_memcpy);
  use("aclrtGetDevice", api.get_device);
  use("aclrtSynchronizeStream", api.synchronize_stream);
  use("aclrtMemcpyAsync", api.memcpy_async);
  use("aclrtMallocHost", api.malloc_host);
  use("aclrtFreeHost", api.free_host);
  use("aclrtCreateStream", api.create_stream);
  use("aclrtDestroyStream", api.destroy_stream);
  use("aclrtSynchronizeStreamWithTimeout", api.synchronize_stream_with_timeout);
  use("aclrtStreamQuery", api.stream_query);
  use("aclrtMalloc", api.malloc);
  use("aclrtFree", api.free);
  use("aclrtGetOverflowStatus", api.get_overflow_status);
  use("aclrtResetOverflowStatus", api.reset_overflow_status);
  use("aclrtGetRunMode", api.get_run_mode);
}

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::ascend
