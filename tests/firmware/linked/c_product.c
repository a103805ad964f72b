/* The product of product.cpp in C. */
#include <string.h>

#include "dump_plan.h"
#include "opdump/opdump.h"

enum { BLOCK_BYTES = 4096, BLOCKS = 8 };

static unsigned char* part(uint32_t block, uint32_t offset) {
  return (unsigned char*)(0x21000000u + block * BLOCK_BYTES + offset);
}

static opdump_status read_flash(void* context, uint32_t block, uint32_t offset, void* to, size_t bytes) {
  (void)context;
  memcpy(to, part(block, offset), bytes);
  return OPDUMP_OK;
}

static opdump_status program_flash(void* context, uint32_t block, uint32_t offset, const void* from,
                                   size_t bytes) {
  (void)context;
  memcpy(part(block, offset), from, bytes);
  return OPDUMP_OK;
}

static opdump_status erase_flash(void* context, uint32_t block) {
  (void)context;
  memset(part(block, 0), 0xff, BLOCK_BYTES);
  return OPDUMP_OK;
}

static opdump_status sync_flash(void* context) {
  (void)context;
  return OPDUMP_OK;
}

static volatile uint32_t ticks;

void SysTick_Handler(void);
void SysTick_Handler(void) {
  ++ticks;
}

static uint64_t unix_us(void* context) {
  (void)context;
  return (uint64_t)ticks * 1000;
}

static uint32_t monotonic_ms(void* context) {
  (void)context;
  return ticks;
}

static void wait_for_tick(void* context) {
  (void)context;
  __asm volatile("wfi" : : : "memory");
}

static const uint64_t shape[] = {1, 4, 4, 4};
static signed char output[64];

enum { OPS = 3 };
static const opdump_op ops[OPS] = {{.name = "conv1", .type = "Conv2D", .task_id = 0},
                                   {.name = "relu1", .type = "Relu", .task_id = 1},
                                   {.name = "dense1", .type = "MatMul", .task_id = 2}};

static const opdump_flash flash = {.struct_bytes = sizeof flash,
                                   .block_bytes = BLOCK_BYTES,
                                   .block_count = BLOCKS,
                                   .program_bytes = 1,
                                   .erased = 0xff,
                                   .bits_only_clear = 1,
                                   .prepared_blocks = 1,
                                   .policy = OPDUMP_FLASH_OVERWRITE_OLDEST,
                                   .read = read_flash,
                                   .program = program_flash,
                                   .erase = erase_flash,
                                   .sync = sync_flash};
static const opdump_clock ticking = {
    .struct_bytes = sizeof ticking, .unix_us = unix_us, .monotonic_ms = monotonic_ms, .pause = wait_for_tick};
static const opdump_recorder_options one_ring = {
    .struct_bytes = sizeof one_ring, .ring_bytes = 2048, .max_tensors = 1};
static const opdump_model_desc desc = {
    .struct_bytes = sizeof desc, .name = "net", .id = 1, .op_count = OPS, .ops = ops};

static unsigned char log_memory[OPDUMP_FLASH_LOG_BYTES(256)], session_memory[OPDUMP_SESSION_BYTES(128)];
static unsigned char recorder_memory[OPDUMP_RECORDER_BYTES(2048, 1)], model_memory[OPDUMP_MODEL_BYTES(OPS)];
static unsigned char config_memory[OPDUMP_CONFIG_BYTES(DUMP_PLAN_MEMORY_BYTES)];
static opdump_sink* flash_log;
static opdump_session* session;
static opdump_recorder* recorder;
static opdump_model* model;

opdump_status firmware_boot(void);
opdump_status firmware_boot(void) {
  opdump_config* config;
  opdump_session_options options = {
      .struct_bytes = sizeof options, .clock = &ticking, .when_full = OPDUMP_WHEN_FULL_BLOCK};
  opdump_status status = opdump_flash_log_create(log_memory, sizeof log_memory, &flash, &flash_log);
  options.sink = flash_log;
  if (status == OPDUMP_OK)
    status = opdump_session_create(session_memory, sizeof session_memory, &options, &session);
  if (status == OPDUMP_OK)
    status = opdump_recorder_add(session, &one_ring, recorder_memory, sizeof recorder_memory, &recorder);
  if (status == OPDUMP_OK)
    status =
        opdump_config_load_plan(config_memory, sizeof config_memory, dump_plan, sizeof dump_plan, &config);
  return status == OPDUMP_OK ? opdump_session_boot(session, config) : status;
}

opdump_status firmware_load(void);
opdump_status firmware_load(void) {
  return opdump_model_load(session, &desc, model_memory, sizeof model_memory, &model);
}

opdump_status firmware_capture(uint32_t op);
opdump_status firmware_capture(uint32_t op) {
  const opdump_tensor tensor = {.address = (uintptr_t)output,
                                .bytes = sizeof output,
                                .dtype = OPDUMP_INT8,
                                .format = OPDUMP_FORMAT_NCHW,
                                .rank = 4,
                                .shape = shape};
  if (!opdump_wants(recorder, op)) return OPDUMP_OK;
  return opdump_capture(recorder, op, 0, 0, &tensor, 1);
}

size_t firmware_drain(void);
size_t firmware_drain(void) {
  return opdump_session_drain(session, 512);
}

opdump_status firmware_end(void);
opdump_status firmware_end(void) {
  return opdump_session_finalize(session);
}

/* Exit status 0 if each record was written. */
int main(void) {
  enum { STEPS = 4 };
  opdump_counts counts;
  uint32_t step, op;
  if (firmware_boot() != OPDUMP_OK || firmware_load() != OPDUMP_OK) return 1;
  for (step = 0; step < STEPS; ++step) {
    (void)opdump_begin_step(recorder, model);
    for (op = 0; op < OPS; ++op) {
      output[step] = (signed char)(op + 1);
      if (firmware_capture(op) != OPDUMP_OK) return 1;
    }
    (void)opdump_end_step(recorder);
    while (firmware_drain() != 0) {
    }
    if (opdump_flash_log_prepare(flash_log, NULL) != OPDUMP_OK) return 1;
  }
  if (firmware_end() != OPDUMP_OK) return 1;
  if (opdump_session_counts(session, &counts, sizeof counts) != OPDUMP_OK) return 1;
  return counts.written == STEPS * OPS ? 0 : 1;
}
