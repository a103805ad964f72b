#include "npu.h"

#include <string.h>

static int8_t memory[0x600];

static int8_t* at(uint64_t address) {
  return memory + (address - NPU_BASE);
}

static void dense(uint64_t to, uint64_t from, uint64_t weight, int outputs, int inputs) {
  for (int o = 0; o < outputs; ++o) {
    int sum = 0;
    for (int i = 0; i < inputs; ++i) sum += at(from)[i] * at(weight)[o * inputs + i];
    sum /= 16;
    at(to)[o] = (int8_t)(sum > 127 ? 127 : sum < -128 ? -128 : sum);
  }
}

void npu_load_weights(void) {
  for (int i = 0; i < NPU_HIDDEN * NPU_INPUTS; ++i) at(NPU_WEIGHT1)[i] = (int8_t)(i * 7 % 23 - 11);
  for (int i = 0; i < NPU_CLASSES * NPU_HIDDEN; ++i) at(NPU_WEIGHT2)[i] = (int8_t)(i * 5 % 19 - 9);
}

void npu_load_input(uint32_t step) {
  for (int i = 0; i < NPU_INPUTS; ++i) at(NPU_INPUT)[i] = (int8_t)(((int)step * 11 + i * 5) % 63 - 31);
}

void npu_run(uint32_t op) {
  switch (op) {
    case 0:
      dense(NPU_HIDDEN1, NPU_INPUT, NPU_WEIGHT1, NPU_HIDDEN, NPU_INPUTS);
      break;
    case 1:
      for (int i = 0; i < NPU_HIDDEN; ++i) {
        const int8_t value = at(NPU_HIDDEN1)[i];
        at(NPU_HIDDEN2)[i] = (int8_t)(value < 0 ? 0 : value);
      }
      break;
    default:
      dense(NPU_SCORES, NPU_HIDDEN2, NPU_WEIGHT2, NPU_CLASSES, NPU_HIDDEN);
      break;
  }
}

int npu_read(void* to, uint64_t from, size_t bytes) {
  if (from < NPU_BASE || from - NPU_BASE > sizeof memory || bytes > sizeof memory - (from - NPU_BASE))
    return -1;
  memcpy(to, at(from), bytes);
  return 0;
}
