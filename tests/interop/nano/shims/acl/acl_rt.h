/* What the vendor's executor uses of AscendCL. */
#pragma once
#include <stddef.h>
#include <stdint.h>

typedef int aclError;
typedef enum { ACL_MEM_MALLOC_HUGE_FIRST } aclrtMemMallocPolicy;
#define ACL_ERROR_NONE 0

aclError aclrtMalloc(void** memory, size_t bytes, aclrtMemMallocPolicy policy);
aclError aclrtFree(void* memory);
aclError aclrtGetDevice(int32_t* device);
