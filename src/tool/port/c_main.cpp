#include "src/tool/port/skeleton.hpp"

namespace opdump::tool {

const SkeletonFile c_main = {
    "main.c", R"(/* A network whose operators are dumped to flash. Exit status 0 if nothing was lost. */
#include <stdio.h>

#include "dump_plan.h"
#include "port.h"

/* The network: one operator here, which doubles four numbers. Yours takes its place. */

static const opdump_op ops[] = {{.name = "double1", .type = "Scale", .task_id = 0, .stream_id = 0}};
static const uint64_t shape[] = {2, 2};
static float input[4];
static float output[4];

static void run_op(int step) {
  for (int i = 0; i < 4; ++i) input[i] = (float)(step + i);
  for (int i = 0; i < 4; ++i) output[i] = 2 * input[i];
}

static opdump_tensor tensor_of(const float* values) {
  const opdump_tensor tensor = {.address = (uint64_t)(uintptr_t)values,
                                .bytes = 4 * sizeof *values,
                                .dtype = OPDUMP_FLOAT32,
                                .format = OPDUMP_FORMAT_ND,
                                .rank = 2,
                                .shape = shape};
  return tensor;
}

/* The dump. A part of opdump says OPDUMP_ERR_NO_MEMORY where its memory is too small. */

static struct {
  opdump_sink* log;
  opdump_session* session;
  opdump_recorder* recorder;
  opdump_model* model;
} dump;

static unsigned char log_memory[2048], config_memory[2048], session_memory[16384], recorder_memory[16384],
    model_memory[2048];

static opdump_status start_dump(void) {
  const opdump_flash flash = port_flash();
  const opdump_memory memory = port_memory();
  const opdump_clock clock = port_clock();
  opdump_session_options options = {
      .struct_bytes = sizeof options, .memory = &memory, .clock = &clock, .when_full = OPDUMP_WHEN_FULL_DROP};
  const opdump_recorder_options recorder = {
      .struct_bytes = sizeof recorder, .ring_bytes = 4096, .max_tensors = 4};
  const opdump_model_desc model = {
      .struct_bytes = sizeof model, .name = "net", .id = 1, .op_count = 1, .ops = ops};
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

int main(void) {
  opdump_counts counts = {0};
  opdump_status status = start_dump();

  for (int step = 0; step < 5; ++step) {
    (void)opdump_begin_step(dump.recorder, dump.model);
    run_op(step);
    if (opdump_wants(dump.recorder, 0)) {
      const opdump_tensor in = tensor_of(input), out = tensor_of(output);
      (void)opdump_capture(dump.recorder, 0, &in, 1, &out, 1);
    }
    (void)opdump_end_step(dump.recorder);
    (void)opdump_session_drain(dump.session, 512);
    (void)opdump_flash_log_prepare(dump.log, NULL);
  }

  if (status == OPDUMP_OK) status = opdump_session_finalize(dump.session);
  (void)opdump_session_counts(dump.session, &counts, sizeof counts);
  printf("%s: %u records dumped, %u lost\n", opdump_status_text(status), (unsigned)counts.written,
         (unsigned)counts.lost);
  return status == OPDUMP_OK && counts.lost == 0 ? 0 : 1;
}
)"};

}  // namespace opdump::tool
