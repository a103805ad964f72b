#pragma once
#include "rt_external_model.h"

typedef void* rtStream_t;

rtError_t rtStreamGetSqid(rtStream_t stream, uint32_t* queue);
