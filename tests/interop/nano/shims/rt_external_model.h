/* What the vendor's executor uses of the runtime. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef int32_t rtError_t;
#define RT_ERROR_NONE 0

typedef struct {
  uint8_t overflow_en;
  uint16_t totalTaskNum;
  void* taskDescBaseAddr;
  void* pcBaseAddr;
  void* paramBaseAddr;
  void* weightBaseAddr;
  uint8_t weightPrefetch;
} rtMdlLoad_t;

/* Only the fields that the executor sets; their order is this header's own. */
typedef struct {
  void* ioaSrcAddr;
  void* dynamicTaskPtr;
  void* workPtr;
  bool sync;
  uint16_t vld;
  uint16_t taskProf;
  uint8_t mid;
  uint32_t ioaSize;
  uint32_t sqid;
  uint32_t mpamId;
  uint32_t mecTimeThreshHold;
  uint32_t aicQos;
  uint32_t aicOst;
} rtMdlExecute_t;

rtError_t rtNanoModelLoad(rtMdlLoad_t* load, uint32_t* model);
rtError_t rtNanoModelExecute(rtMdlExecute_t* run);
rtError_t rtNanoModelDestroy(uint32_t model);
rtError_t rtMsgSend(uint32_t to, uint32_t from, int32_t timeout, void* message, uint32_t bytes);
rtError_t rtSetTaskDescDumpFlag(void* tasks, size_t bytes, uint32_t task);
rtError_t rtDumpInit(void);
rtError_t rtDumpDeInit(void);
