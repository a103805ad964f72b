/* Firmware in C that links the whole of a session: what it takes to boot, step, drain and end. */
#include <opdump/opdump.h>

static uint64_t unix_us(void* context) {
  (void)context;
  return 1;
}

static uint32_t monotonic_ms(void* context) {
  (void)context;
  return 1;
}

static opdump_status take(void* context, const opdump_piece* piece) {
  (void)context;
  return piece->path_bytes != 0 ? OPDUMP_OK : OPDUMP_ERR_IO;
}

static uint64_t memory[4][1024];

/* 0, or the number of the call that failed. */
int main(void) {
  const opdump_clock clock = {sizeof clock, 0, unix_us, 0, monotonic_ms, 0};
  const opdump_op ops[] = {{"conv1", "Conv2D", 1, 0, 0, 0, 0, 0, OPDUMP_LEVEL_BOTH, 0}};
  const opdump_model_desc desc = {sizeof desc, "net", 0, 1, 1, ops};
  opdump_session_options options = {0};
  opdump_recorder_options ring = {0};
  opdump_sink* sink;
  opdump_session* session;
  opdump_recorder* recorder;
  opdump_model* model;
  options.struct_bytes = sizeof options;
  options.clock = &clock;
  ring.struct_bytes = sizeof ring;
  ring.ring_bytes = 1024;
  if (opdump_callback_sink_create(memory[0], sizeof memory[0], 100, take, 0, &sink) != OPDUMP_OK) return 1;
  options.sink = sink;
  if (opdump_session_create(memory[1], sizeof memory[1], &options, &session) != OPDUMP_OK) return 2;
  if (opdump_recorder_add(session, &ring, memory[2], sizeof memory[2], &recorder) != OPDUMP_OK) return 3;
  if (opdump_session_init(session) != OPDUMP_OK) return 4;
  if (opdump_model_load(session, &desc, memory[3], sizeof memory[3], &model) != OPDUMP_OK) return 5;
  if (opdump_begin_step(recorder, model) != OPDUMP_OK) return 6;
  if (opdump_wants(recorder, 0) != 0 || opdump_capture(recorder, 0, 0, 0, 0, 0) != OPDUMP_OK) return 7;
  if (opdump_capture(recorder, 1, 0, 0, 0, 0) != OPDUMP_ERR_NO_SUCH_OP) return 8;
  if (opdump_end_step(recorder) != OPDUMP_OK) return 9;
  if (opdump_session_finalize(session) != OPDUMP_OK) return 10;
  return 0;
}
