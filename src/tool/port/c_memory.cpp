#include "src/tool/port/skeleton.hpp"

namespace opdump::tool {

const SkeletonFile c_memory = {"memory.c", R"(/* Where the tensors lie. */
#include <string.h>

#include "port.h"

static opdump_status copy(void* context, void* to, uint64_t from, size_t bytes) {
  (void)context;
  /* FILL IN 1: copy `bytes` bytes from the device's address `from` to `to`, and return when they are there.
   * OPDUMP_ERR_DEVICE_COPY_FAILED if not every byte arrived. This reads what the processor itself can read.
   */
  if (from == 0) return OPDUMP_ERR_DEVICE_COPY_FAILED;
  memcpy(to, (const void*)(uintptr_t)from, bytes);
  return OPDUMP_OK;
  /* End of 1. */
}

opdump_memory port_memory(void) {
  const opdump_memory memory = {.struct_bytes = sizeof memory, .copy = copy};
  return memory;
}
)"};

}  // namespace opdump::tool
