#pragma once
#include "freertos/FreeRTOS.h"

typedef struct tskTaskControlBlock* TaskHandle_t;
typedef void (*TaskFunction_t)(void* argument);
typedef enum { eRunning = 0, eReady, eBlocked, eSuspended, eDeleted, eInvalid } eTaskState;

extern "C" {
TaskHandle_t xTaskCreateStatic(TaskFunction_t code, const char* const name, const uint32_t stack_depth,
                               void* const argument, UBaseType_t priority, StackType_t* const stack,
                               StaticTask_t* const block);
void vTaskDelete(TaskHandle_t task);
void vTaskDelay(const TickType_t ticks);
void vTaskSuspend(TaskHandle_t task);
eTaskState eTaskGetState(TaskHandle_t task);
TickType_t xTaskGetTickCount(void);
// Macros in FreeRTOS.
BaseType_t xTaskNotifyGive(TaskHandle_t task);
void vTaskNotifyGiveFromISR(TaskHandle_t task, BaseType_t* yield);
uint32_t ulTaskNotifyTake(BaseType_t clear, TickType_t ticks);
}
