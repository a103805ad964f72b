#pragma once
#include <stddef.h>
#include <stdint.h>

// What the port for Zephyr calls of the kernel, in our own words. Checked against zephyr/kernel.h of
// zephyrproject-rtos/zephyr at 005401f. The objects are a fake's; a tick is a millisecond.
typedef struct {
  int64_t ticks;
} k_timeout_t;

#define K_NO_WAIT (k_timeout_t{0})
#define K_TICKS(count) (k_timeout_t{count})
#define K_MSEC(ms) (k_timeout_t{static_cast<int64_t>(ms)})

struct k_sem {
  void* fake;
};
struct k_thread {
  void* fake;
};
typedef struct k_thread* k_tid_t;
typedef struct {
  char byte;
} k_thread_stack_t;
typedef void (*k_thread_entry_t)(void* p1, void* p2, void* p3);

#define K_KERNEL_STACK_MEMBER(name, bytes) alignas(8) k_thread_stack_t name[bytes]
#define K_KERNEL_STACK_SIZEOF(name) sizeof(name)

extern "C" {
int k_sem_init(struct k_sem* sem, unsigned int initial_count, unsigned int limit);
int k_sem_take(struct k_sem* sem, k_timeout_t timeout);
void k_sem_give(struct k_sem* sem);
k_tid_t k_thread_create(struct k_thread* thread, k_thread_stack_t* stack, size_t stack_size,
                        k_thread_entry_t entry, void* p1, void* p2, void* p3, int priority, uint32_t options,
                        k_timeout_t delay);
int k_thread_join(struct k_thread* thread, k_timeout_t timeout);
int32_t k_sleep(k_timeout_t timeout);
int64_t k_uptime_ticks(void);
uint32_t k_uptime_get_32(void);
uint64_t k_ticks_to_us_floor64(uint64_t ticks);
}
