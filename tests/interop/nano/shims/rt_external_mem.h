#pragma once
#include "rt_external_model.h"

enum { RT_MEMCPY_HOST_TO_DEVICE = 1, RT_MEMCPY_DEVICE_TO_HOST = 2 };

rtError_t rtMemcpy(void* to, uint64_t room, const void* from, uint64_t bytes, int kind);
