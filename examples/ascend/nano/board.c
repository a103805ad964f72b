#include "board.h"

#include <stdio.h>
#include <string.h>

static const char* const kNames[BOARD_TASKS] = {"conv", "relu", "fc"};
static const char* const kTypes[BOARD_TASKS] = {"Conv2D", "Relu", "MatMul"};
static unsigned char task_memory[BOARD_TASK_BYTES];

/* The .dbg file. */

struct bytes {
  unsigned char at[4096];
  uint32_t used;
};

static void add(struct bytes* to, const void* from, size_t count) {
  memcpy(to->at + to->used, from, count);
  to->used += (uint32_t)count;
}

static void add_number(struct bytes* to, uint64_t value, int count) {
  for (int i = 0; i < count; ++i, value >>= 8) to->at[to->used++] = (unsigned char)value;
}

static void add_tlv(struct bytes* to, uint32_t tag, const void* value, uint32_t count) {
  add_number(to, tag, 4);
  add_number(to, count, 4);
  add(to, value, count);
}

/* Inputs or outputs: one tensor of 4 float32. */
static void add_tensors(struct bytes* to, uint32_t tag, int is_output) {
  struct bytes list = {.used = 0};
  add_number(&list, 1, 4);
  for (int i = 0; i < (is_output ? 6 : 3); ++i)
    add_number(&list, i == 1 ? 2 : 0, 4); /* dtype, format ND, ... */
  add_number(&list, 0, 8);
  add_number(&list, 0, 8);
  add_number(&list, 16, 8);
  struct bytes dims = {.used = 0};
  add_number(&dims, 4, 8);
  add_number(&list, 2 * (8 + 8), 4);
  add_tlv(&list, 0, dims.at, dims.used);
  add_tlv(&list, 1, dims.at, dims.used);
  add_tlv(to, tag, list.at, list.used);
}

static void add_operator(struct bytes* to, uint32_t task) {
  struct bytes tlvs = {.used = 0};
  add_tlv(&tlvs, 0, kNames[task], (uint32_t)strlen(kNames[task]));
  add_tlv(&tlvs, 1, kTypes[task], (uint32_t)strlen(kTypes[task]));
  add_tensors(&tlvs, 4, 0);
  add_tensors(&tlvs, 5, 1);
  add_number(to, task, 4);
  add_number(to, 0, 4 * 4); /* streams, kind of task, blocks */
  add_number(to, 0, 1);
  add_number(to, tlvs.used, 4);
  add(to, tlvs.at, tlvs.used);
}

int board_write_description(const char* path) {
  struct bytes file = {.used = 0};
  struct bytes list = {.used = 0};
  add_number(&file, 0, 4);
  add_number(&file, 0x5a5a5a5a, 4);
  add_tlv(&file, 0, "net", 3);
  add_number(&list, BOARD_TASKS, 4);
  for (uint32_t task = 0; task < BOARD_TASKS; ++task) add_operator(&list, task);
  add_tlv(&file, 1, list.at, list.used);
  FILE* const out = fopen(path, "wb");
  if (out == NULL) {
    perror(path);
    return 1;
  }
  const size_t written = fwrite(file.at, 1, file.used, out);
  return fclose(out) != 0 || written != file.used;
}

/* The runtime. */

static int marked[BOARD_TASKS];
static const uint64_t* step; /* not NULL: the device part has a load message */

struct model_load board_load(void) {
  const struct model_load load = {.total_tasks = BOARD_TASKS, .tasks = task_memory};
  return load;
}

uint32_t board_model(void) {
  return 1;
}

void board_run(void) {
  for (int task = 0; step != NULL && task < BOARD_TASKS; ++task) {
    if (marked[task]) printf("device: dumps %s at step %llu\n", kNames[task], (unsigned long long)*step);
  }
}

int rtDumpInit(void);
int rtDumpInit(void) {
  return 0;
}

int rtDumpDeInit(void);
int rtDumpDeInit(void) {
  return 0;
}

int32_t rtSetTaskDescDumpFlag(void* tasks, size_t bytes, uint32_t task);
int32_t rtSetTaskDescDumpFlag(void* tasks, size_t bytes, uint32_t task) {
  if (tasks != task_memory || bytes != BOARD_TASK_BYTES || task >= BOARD_TASKS) return 107000;
  marked[task] = 1;
  return 0;
}

/* The length is that of the .dbg file; what the message says of the model lies behind it. */
int32_t rtMsgSend(uint32_t to, uint32_t from, int32_t timeout, void* message, uint32_t bytes);
int32_t rtMsgSend(uint32_t to, uint32_t from, int32_t timeout, void* message, uint32_t bytes) {
  (void)to, (void)from, (void)timeout;
  const unsigned char* const model = (const unsigned char*)message + bytes + 8;
  memcpy(&step, model + 8, sizeof step);
  const char* what = "load";
  if (model[0] == 0) {
    step = NULL;
    what = "unload";
  }
  printf("device: message to %s model %u\n", what, (unsigned)model[4]);
  return 0;
}
