#ifndef NPU_H
#define NPU_H
/* An accelerator with memory of its own, as a driver shows it: addresses that are no pointers, and copies by
 * DMA. */
#include <stddef.h>
#include <stdint.h>

#define NPU_BASE UINT64_C(0x80000000)

/** Elements of the network's int8 tensors. */
enum { NPU_INPUTS = 16, NPU_HIDDEN = 8, NPU_CLASSES = 4 };

/** Where the tensors lie. */
#define NPU_INPUT (NPU_BASE + 0x000)
#define NPU_WEIGHT1 (NPU_BASE + 0x100)
#define NPU_HIDDEN1 (NPU_BASE + 0x200)
#define NPU_HIDDEN2 (NPU_BASE + 0x300)
#define NPU_WEIGHT2 (NPU_BASE + 0x400)
#define NPU_SCORES (NPU_BASE + 0x500)

void npu_load_weights(void);
void npu_load_input(uint32_t step);

/** Runs operator `op` of fc1, relu, fc2. */
void npu_run(uint32_t op);

/** 0, or -1 for memory that is not there. */
int npu_read(void* to, uint64_t from, size_t bytes);
#endif
