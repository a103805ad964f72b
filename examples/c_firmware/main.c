/*
 * Firmware in plain C that dumps what a network on an accelerator computes: the config is a plan in the
 * program, made by `opdump compile`; the tensors come from the accelerator by its driver; the dump goes to
 * raw flash, and the main loop drains. If anything of the dump fails, inference goes on without.
 *
 * usage: c_firmware IMAGE [STEPS]     IMAGE becomes what the flash holds, for `opdump extract`
 * Exit status 0 if nothing was lost.
 */
#include <stdio.h>
#include <stdlib.h>

#include "dump_plan.h"
#include "nor.h"
#include "npu.h"
#include "opdump/opdump.h"

/* The port. */

static opdump_status copy_from_npu(void* context, void* to, uint64_t from, size_t bytes) {
  (void)context;
  return npu_read(to, from, bytes) == 0 ? OPDUMP_OK : OPDUMP_ERR_DEVICE_COPY_FAILED;
}

static opdump_status read_flash(void* context, uint32_t block, uint32_t offset, void* to, size_t bytes) {
  (void)context;
  return nor_read(block, offset, to, bytes) == 0 ? OPDUMP_OK : OPDUMP_ERR_IO;
}

static opdump_status program_flash(void* context, uint32_t block, uint32_t offset, const void* from,
                                   size_t bytes) {
  (void)context;
  return nor_program(block, offset, from, bytes) == 0 ? OPDUMP_OK : OPDUMP_ERR_IO;
}

static opdump_status erase_flash(void* context, uint32_t block) {
  (void)context;
  return nor_erase(block) == 0 ? OPDUMP_OK : OPDUMP_ERR_IO;
}

static opdump_status sync_flash(void* context) {
  (void)context;
  return OPDUMP_OK;
}

/* A tick per record, so that two runs give the same names; a board has a timer. */
static uint32_t ticks;

static uint64_t unix_us(void* context) {
  (void)context;
  return UINT64_C(1700000000000000) + 100u * ++ticks;
}

static uint32_t monotonic_ms(void* context) {
  (void)context;
  return ticks;
}

/* The network. */

enum { FC1, RELU, FC2, OPS };

static const uint64_t input_shape[] = {1, NPU_INPUTS};
static const uint64_t weight1_shape[] = {NPU_HIDDEN, NPU_INPUTS};
static const uint64_t hidden_shape[] = {1, NPU_HIDDEN};
static const uint64_t weight2_shape[] = {NPU_CLASSES, NPU_HIDDEN};
static const uint64_t scores_shape[] = {1, NPU_CLASSES};

static const opdump_op ops[OPS] = {
    [FC1] = {.name = "fc1", .type = "MatMul", .task_id = 0, .stream_id = 0},
    [RELU] = {.name = "relu", .type = "Relu", .task_id = 1, .stream_id = 0},
    [FC2] = {.name = "fc2", .type = "MatMul", .task_id = 2, .stream_id = 0},
};

static opdump_tensor int8_tensor(uint64_t address, const uint64_t shape[2]) {
  const opdump_tensor tensor = {.address = address,
                                .bytes = shape[0] * shape[1],
                                .dtype = OPDUMP_INT8,
                                .format = OPDUMP_FORMAT_ND,
                                .rank = 2,
                                .shape = shape};
  return tensor;
}

static void capture(opdump_recorder* recorder, uint32_t op) {
  opdump_tensor in[2], out[1];
  switch (op) {
    case FC1:
      in[0] = int8_tensor(NPU_INPUT, input_shape);
      in[1] = int8_tensor(NPU_WEIGHT1, weight1_shape);
      out[0] = int8_tensor(NPU_HIDDEN1, hidden_shape);
      break;
    case RELU:
      in[0] = int8_tensor(NPU_HIDDEN1, hidden_shape);
      out[0] = int8_tensor(NPU_HIDDEN2, hidden_shape);
      break;
    default:
      in[0] = int8_tensor(NPU_HIDDEN2, hidden_shape);
      in[1] = int8_tensor(NPU_WEIGHT2, weight2_shape);
      out[0] = int8_tensor(NPU_SCORES, scores_shape);
      break;
  }
  /* What is lost is counted. */
  (void)opdump_capture(recorder, op, in, op == RELU ? 1 : 2, out, 1);
}

/* The dump: handles in static memory. */

static struct {
  opdump_sink* log;
  opdump_session* session;
  opdump_recorder* recorder;
  opdump_model* model;
} dump;

enum { NAME_BYTES = 32, PAGE_BYTES = 256, RING_BYTES = 2048, MAX_TENSORS = 3 };
static unsigned char log_memory[OPDUMP_FLASH_LOG_BYTES(PAGE_BYTES)];
static unsigned char config_memory[OPDUMP_CONFIG_BYTES(DUMP_PLAN_MEMORY_BYTES)];
static unsigned char session_memory[OPDUMP_SESSION_BYTES(NAME_BYTES)], model_memory[OPDUMP_MODEL_BYTES(OPS)];
static unsigned char recorder_memory[OPDUMP_RECORDER_BYTES(RING_BYTES, MAX_TENSORS)];

static opdump_status start_dump(void) {
  const opdump_flash flash = {.struct_bytes = sizeof flash,
                              .block_bytes = NOR_BLOCK_BYTES,
                              .block_count = NOR_BLOCKS,
                              .program_bytes = NOR_PROGRAM_BYTES,
                              .page_bytes = PAGE_BYTES,
                              .erased = 0xff,
                              .bits_only_clear = 1,
                              .prepared_blocks = 1,
                              .read = read_flash,
                              .program = program_flash,
                              .erase = erase_flash,
                              .sync = sync_flash};
  const opdump_memory memory = {.struct_bytes = sizeof memory, .copy = copy_from_npu};
  const opdump_clock clock = {.struct_bytes = sizeof clock, .unix_us = unix_us, .monotonic_ms = monotonic_ms};
  opdump_session_options options = {.struct_bytes = sizeof options,
                                    .memory = &memory,
                                    .clock = &clock,
                                    .name_bytes = NAME_BYTES,
                                    .when_full = OPDUMP_WHEN_FULL_DROP};
  const opdump_recorder_options recorder = {
      .struct_bytes = sizeof recorder, .ring_bytes = RING_BYTES, .max_tensors = MAX_TENSORS};
  const opdump_model_desc model = {
      .struct_bytes = sizeof model, .name = "gesture", .id = 1, .op_count = OPS, .ops = ops};
  opdump_config* config = NULL;

  opdump_status status = opdump_flash_log_create(log_memory, sizeof log_memory, &flash, &dump.log);
  options.sink = dump.log;
  if (status == OPDUMP_OK)
    status = opdump_session_create(session_memory, sizeof session_memory, &options, &dump.session);
  if (status == OPDUMP_OK)
    status =
        opdump_recorder_add(dump.session, &recorder, recorder_memory, sizeof recorder_memory, &dump.recorder);
  if (status == OPDUMP_OK)
    status =
        opdump_config_load_plan(config_memory, sizeof config_memory, dump_plan, sizeof dump_plan, &config);
  if (status == OPDUMP_OK) status = opdump_session_boot(dump.session, config);
  if (status == OPDUMP_OK)
    status = opdump_model_load(dump.session, &model, model_memory, sizeof model_memory, &dump.model);
  return status;
}

int main(int argc, char** argv) {
  const uint32_t steps = argc > 2 ? (uint32_t)strtoul(argv[2], NULL, 10) : 5;
  opdump_counts counts = {0};
  opdump_status status;

  if (argc < 2) {
    fprintf(stderr, "usage: c_firmware IMAGE [STEPS]\n");
    return 2;
  }
  npu_load_weights();
  status = start_dump();
  if (status != OPDUMP_OK) fprintf(stderr, "c_firmware: nothing is dumped: %s\n", opdump_status_text(status));

  for (uint32_t step = 0; step < steps; ++step) {
    npu_load_input(step);
    (void)opdump_begin_step(dump.recorder, dump.model);
    for (uint32_t op = 0; op < OPS; ++op) {
      npu_run(op);
      if (opdump_wants(dump.recorder, op)) capture(dump.recorder, op);
      while (opdump_session_drain(dump.session, 4096) != 0) {
      }
    }
    (void)opdump_end_step(dump.recorder);
    (void)opdump_flash_log_prepare(dump.log, NULL);
  }

  if (status == OPDUMP_OK) status = opdump_session_finalize(dump.session);
  (void)opdump_session_counts(dump.session, &counts, sizeof counts);
  printf("%u records dumped, %u lost\n", (unsigned)counts.written, (unsigned)counts.lost);
  if (nor_save(argv[1]) != 0) {
    fprintf(stderr, "c_firmware: cannot write %s\n", argv[1]);
    return 1;
  }
  return status == OPDUMP_OK && counts.lost == 0 ? 0 : 1;
}
