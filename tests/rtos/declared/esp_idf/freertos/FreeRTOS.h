#pragma once
#include <stdint.h>

// What the port for FreeRTOS uses of ESP-IDF's kernel, in our own words. Checked against portmacro.h for
// RISC-V of espressif/esp-idf at 007a626, and FreeRTOS.h and task.h of FreeRTOS/FreeRTOS-Kernel at e4269c6.
#define configTICK_RATE_HZ 100
#define configSUPPORT_STATIC_ALLOCATION 1
#define INCLUDE_eTaskGetState 1
#define INCLUDE_vTaskSuspend 1
#define INCLUDE_vTaskDelete 1

typedef uint8_t StackType_t;
typedef int BaseType_t;
typedef unsigned UBaseType_t;
typedef uint32_t TickType_t;

#define pdFALSE ((BaseType_t)0)
#define pdTRUE ((BaseType_t)1)
#define portTICK_PERIOD_MS ((TickType_t)(1000 / configTICK_RATE_HZ))
#define portYIELD_FROM_ISR(yield) static_cast<void>(yield)

extern "C" BaseType_t xPortInIsrContext(void);

typedef struct {
  void* fake;
} StaticTask_t;
