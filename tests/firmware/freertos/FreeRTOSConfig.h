/* FreeRTOS as main.cpp wants it: on a Cortex-M3 at 25 MHz, without a heap. */
#ifndef FREERTOS_CONFIG_H
#define FREERTOS_CONFIG_H

#define configCPU_CLOCK_HZ 25000000
#define configTICK_RATE_HZ 1000
#define configTICK_TYPE_WIDTH_IN_BITS TICK_TYPE_WIDTH_32_BITS
#define configUSE_TICK_HOOK 1
#define configUSE_IDLE_HOOK 0
#define configUSE_PREEMPTION 1
#define configMAX_PRIORITIES 5
#define configMINIMAL_STACK_SIZE 128

#define configSUPPORT_STATIC_ALLOCATION 1
#define configSUPPORT_DYNAMIC_ALLOCATION 0
#define configKERNEL_PROVIDED_STATIC_MEMORY 1
#define configUSE_TIMERS 0

#define INCLUDE_eTaskGetState 1
#define INCLUDE_vTaskDelay 1
#define INCLUDE_vTaskDelete 1
#define INCLUDE_vTaskSuspend 1

/* What calls FreeRTOS has these or less. The emulated board has eight bits of priority. */
#define configKERNEL_INTERRUPT_PRIORITY 0xff
#define configMAX_SYSCALL_INTERRUPT_PRIORITY 0xa0
/* main.cpp puts the handlers into a table of vectors of its own. */
#define configCHECK_HANDLER_INSTALLATION 0

#ifdef __cplusplus
extern "C"
#endif
    void
    assert_failed(const char* file, int line);
#define configASSERT(holds) \
  if (!(holds)) assert_failed(__FILE__, __LINE__)

#endif
