#pragma once
#include "platform/ascend/acl_api.hpp"

/// For firmware that links the runtime (on a nano device libascendcl.a): no loading, no strings.
///
/// The functions have names of their own here, which stand for the runtime's symbols. CANN's headers declare
/// them with CANN's types, and may be included before or behind this one.

#define OPDUMP_ASCEND_TEXT(words) #words
#define OPDUMP_ASCEND_SYMBOL_OF(prefix, name) OPDUMP_ASCEND_TEXT(prefix) #name
#define OPDUMP_ASCEND_JOIN(prefix, name) OPDUMP_ASCEND_SYMBOL_OF(prefix, name)
#define OPDUMP_ASCEND_SYMBOL(name) __asm__(OPDUMP_ASCEND_JOIN(__USER_LABEL_PREFIX__, name))

namespace opdump::ascend::linked {
inline namespace OPDUMP_NAMESPACE {

extern "C" {
int opdump_aclrtMemcpy(void* to, std::size_t room, const void* from, std::size_t bytes, int kind)
    OPDUMP_ASCEND_SYMBOL(aclrtMemcpy);
int opdump_aclrtGetDevice(std::int32_t* id) OPDUMP_ASCEND_SYMBOL(aclrtGetDevice);
int opdump_aclrtGetRunMode(int* mode) OPDUMP_ASCEND_SYMBOL(aclrtGetRunMode);
int opdump_aclrtSynchronizeStream(void* stream) OPDUMP_ASCEND_SYMBOL(aclrtSynchronizeStream);
int opdump_aclrtMemcpyAsync(void* to, std::size_t room, const void* from, std::size_t bytes, int kind,
                            void* stream) OPDUMP_ASCEND_SYMBOL(aclrtMemcpyAsync);
int opdump_aclrtMallocHost(void** memory, std::size_t bytes) OPDUMP_ASCEND_SYMBOL(aclrtMallocHost);
int opdump_aclrtFreeHost(void* memory) OPDUMP_ASCEND_SYMBOL(aclrtFreeHost);
int opdump_aclrtCreateStream(void** stream) OPDUMP_ASCEND_SYMBOL(aclrtCreateStream);
int opdump_aclrtDestroyStream(void* stream) OPDUMP_ASCEND_SYMBOL(aclrtDestroyStream);
int opdump_aclrtSynchronizeStreamWithTimeout(void* stream, std::int32_t ms)
    OPDUMP_ASCEND_SYMBOL(aclrtSynchronizeStreamWithTimeout);
int opdump_aclrtStreamQuery(void* stream, int* status) OPDUMP_ASCEND_SYMBOL(aclrtStreamQuery);
int opdump_aclrtMalloc(void** memory, std::size_t bytes, int policy) OPDUMP_ASCEND_SYMBOL(aclrtMalloc);
int opdump_aclrtFree(void* memory) OPDUMP_ASCEND_SYMBOL(aclrtFree);
int opdump_aclrtGetOverflowStatus(void* status, std::size_t bytes, void* stream)
    OPDUMP_ASCEND_SYMBOL(aclrtGetOverflowStatus);
int opdump_aclrtResetOverflowStatus(void* stream) OPDUMP_ASCEND_SYMBOL(aclrtResetOverflowStatus);
int opdump_rtMemcpy(void* to, std::uint64_t room, const void* from, std::uint64_t bytes, int kind)
    OPDUMP_ASCEND_SYMBOL(rtMemcpy);
}

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::ascend::linked

#undef OPDUMP_ASCEND_SYMBOL
#undef OPDUMP_ASCEND_JOIN
#undef OPDUMP_ASCEND_SYMBOL_OF
#undef OPDUMP_ASCEND_TEXT

namespace opdump::ascend {
inline namespace OPDUMP_NAMESPACE {

/// The functions of a nano product's runtime; nothing else of it is linked.
constexpr AclApi linked_nano_api() {
  return {.memcpy_sync = linked::opdump_aclrtMemcpy,
          .get_device = linked::opdump_aclrtGetDevice,
          .synchronize_stream = linked::opdump_aclrtSynchronizeStream};
}

/// The one function that an executor below AscendCL has.
constexpr AclApi linked_rt_api() {
  return {.rt_memcpy = linked::opdump_rtMemcpy};
}

/// All functions, for products with streams that the program can make.
constexpr AclApi linked_api() {
  AclApi api = linked_nano_api();
  api.memcpy_async = linked::opdump_aclrtMemcpyAsync;
  api.malloc_host = linked::opdump_aclrtMallocHost;
  api.free_host = linked::opdump_aclrtFreeHost;
  api.create_stream = linked::opdump_aclrtCreateStream;
  api.destroy_stream = linked::opdump_aclrtDestroyStream;
  api.synchronize_stream_with_timeout = linked::opdump_aclrtSynchronizeStreamWithTimeout;
  api.stream_query = linked::opdump_aclrtStreamQuery;
  api.malloc = linked::opdump_aclrtMalloc;
  api.free = linked::opdump_aclrtFree;
  api.get_overflow_status = linked::opdump_aclrtGetOverflowStatus;
  api.reset_overflow_status = linked::opdump_aclrtResetOverflowStatus;
  api.get_run_mode = linked::opdump_aclrtGetRunMode;
  return api;
}

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::ascend
