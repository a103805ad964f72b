#pragma once
#include "platform/ascend/acl_api.hpp"

/// For firmware that links the runtime (on a nano device libascendcl.a): no loading, no strings.
extern "C" {
int aclrtMemcpy(void* to, std::size_t room, const void* from, std::size_t bytes, int kind);
int aclrtGetDevice(std::int32_t* id);
int aclrtSynchronizeStream(void* stream);
int aclrtMemcpyAsync(void* to, std::size_t room, const void* from, std::size_t bytes, int kind, void* stream);
int aclrtMallocHost(void** memory, std::size_t bytes);
int aclrtFreeHost(void* memory);
int aclrtCreateStream(void** stream);
int aclrtDestroyStream(void* stream);
int aclrtSynchronizeStreamWithTimeout(void* stream, std::int32_t ms);
int aclrtStreamQuery(void* stream, int* status);
int aclrtMalloc(void** memory, std::size_t bytes, int policy);
int aclrtFree(void* memory);
int aclrtGetOverflowStatus(void* status, std::size_t bytes, void* stream);
int aclrtResetOverflowStatus(void* stream);
int rtMemcpy(void* to, std::uint64_t room, const void* from, std::uint64_t bytes, int kind);
}

namespace opdump::ascend {
inline namespace OPDUMP_NAMESPACE {

/// The functions of a nano product's runtime; nothing else of it is linked.
constexpr AclApi linked_nano_api() {
  return {
      .memcpy_sync = aclrtMemcpy, .get_device = aclrtGetDevice, .synchronize_stream = aclrtSynchronizeStream};
}

/// The one function that an executor below AscendCL has.
constexpr AclApi linked_rt_api() {
  return {.rt_memcpy = rtMemcpy};
}

/// All functions, for products with streams that the program can make.
constexpr AclApi linked_api() {
  AclApi api = linked_nano_api();
  api.memcpy_async = aclrtMemcpyAsync;
  api.malloc_host = aclrtMallocHost;
  api.free_host = aclrtFreeHost;
  api.create_stream = aclrtCreateStream;
  api.destroy_stream = aclrtDestroyStream;
  api.synchronize_stream_with_timeout = aclrtSynchronizeStreamWithTimeout;
  api.stream_query = aclrtStreamQuery;
  api.malloc = aclrtMalloc;
  api.free = aclrtFree;
  api.get_overflow_status = aclrtGetOverflowStatus;
  api.reset_overflow_status = aclrtResetOverflowStatus;
  return api;
}

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::ascend
