#include "opdump/opdump.h"
#ifndef OPDUMP_IMPL_C_API_OFF_H
#define OPDUMP_IMPL_C_API_OFF_H
/**
 * The calls of a program in C without OPDUMP_ENABLED. Each takes its arguments, sets what it is to fill to zero and
 * says OPDUMP_OK, 0, a size of 1 or nothing; a compiler that optimises leaves neither code nor what only these calls
 * use. Function pointers still mean the library's.
 */
#include <string.h>

#include "opdump/opdump_system.h"
#include "opdump/version.h"

/** `checked` is the size of the call's result: the compiler has looked at the arguments. */
static inline int opdump_off_(int checked, ...) {
  return (void)checked, 0;
}
static inline int opdump_off_set_(void* to, size_t bytes, int checked, ...) {
  if (to != NULL) memset(to, 0, bytes);
  return (void)checked, 0;
}
#define OPDUMP_OFF_(call, ...) opdump_off_((int)sizeof(call(__VA_ARGS__)), __VA_ARGS__)
#define OPDUMP_COUNT_(call, ...) ((uint32_t)OPDUMP_OFF_(call, __VA_ARGS__))
#define OPDUMP_SIZE_(call, ...) ((size_t)1 + OPDUMP_COUNT_(call, __VA_ARGS__))
#define OPDUMP_LAST_(to, bytes, call, ...) OPDUMP_SET_(to, bytes, call(__VA_ARGS__, to), __VA_ARGS__)
#define OPDUMP_MAKE_(to, call, ...) OPDUMP_LAST_(to, sizeof(void*), call, __VA_ARGS__)
#define OPDUMP_SET_(to, bytes, call, ...) opdump_off_set_(to, bytes, (int)sizeof(call), __VA_ARGS__)

#define opdump_status_text(a) ((void)(a), "")
#define opdump_sink_destroy(...) ((void)opdump_off_(0, __VA_ARGS__))
#define opdump_flash_log_create(a, b, c, d) OPDUMP_MAKE_(d, opdump_flash_log_create, a, b, c)
#define opdump_flash_log_prepare(a, b) OPDUMP_LAST_(b, sizeof(int), opdump_flash_log_prepare, a)
#define opdump_config_load_plan(a, b, c, d, e) OPDUMP_MAKE_(e, opdump_config_load_plan, a, b, c, d)
#define opdump_session_create(a, b, c, d) OPDUMP_MAKE_(d, opdump_session_create, a, b, c)
#define opdump_session_boot(...) OPDUMP_OFF_(opdump_session_boot, __VA_ARGS__)
#define opdump_session_finalize(...) OPDUMP_OFF_(opdump_session_finalize, __VA_ARGS__)
#define opdump_session_drain(...) OPDUMP_COUNT_(opdump_session_drain, __VA_ARGS__)
#define opdump_session_counts(a, b, c) OPDUMP_SET_(b, c, opdump_session_counts(a, b, c), a, c)
#define opdump_model_load(a, b, c, d, e) OPDUMP_MAKE_(e, opdump_model_load, a, b, c, d)
#define opdump_recorder_add(a, b, c, d, e) OPDUMP_MAKE_(e, opdump_recorder_add, a, b, c, d)
#define opdump_begin_step(...) OPDUMP_OFF_(opdump_begin_step, __VA_ARGS__)
#define opdump_wants(...) OPDUMP_OFF_(opdump_wants, __VA_ARGS__)
#define opdump_capture(...) OPDUMP_OFF_(opdump_capture, __VA_ARGS__)
#define opdump_end_step(...) OPDUMP_OFF_(opdump_end_step, __VA_ARGS__)

#define opdump_api_version() ((uint32_t)(OPDUMP_API_MAJOR << 16 | OPDUMP_API_MINOR))
#define opdump_version() OPDUMP_VERSION_STRING
#define opdump_sink_sync(...) OPDUMP_OFF_(opdump_sink_sync, __VA_ARGS__)
#define opdump_callback_sink_size(...) OPDUMP_SIZE_(opdump_callback_sink_size, __VA_ARGS__)
#define opdump_callback_sink_create(a, b, c, d, e, f) \
  OPDUMP_MAKE_(f, opdump_callback_sink_create, a, b, c, d, e)
#define opdump_flash_log_size(...) OPDUMP_SIZE_(opdump_flash_log_size, __VA_ARGS__)
#define opdump_flash_log_boot(a, b) OPDUMP_LAST_(b, sizeof(uint32_t), opdump_flash_log_boot, a)
#define opdump_flash_log_erase_ahead(a, b) OPDUMP_LAST_(b, sizeof(int), opdump_flash_log_erase_ahead, a)
#define opdump_flash_log_ready_bytes(...) OPDUMP_COUNT_(opdump_flash_log_ready_bytes, __VA_ARGS__)
#define opdump_flash_log_emergency(...) OPDUMP_OFF_(opdump_flash_log_emergency, __VA_ARGS__)
#define opdump_fed_flash_size() ((size_t)1)
#define opdump_fed_flash_create(a, b, c, d, e, f) \
  OPDUMP_SET_(e, f, opdump_fed_flash_create(a, b, c, d, e, f), a, b, c, d, f)
#define opdump_sealed_sink_size(...) OPDUMP_SIZE_(opdump_sealed_sink_size, __VA_ARGS__)
#define opdump_sealed_sink_create(a, b, c, d, e, f) OPDUMP_MAKE_(f, opdump_sealed_sink_create, a, b, c, d, e)
#define opdump_sealed_sink_seal(...) OPDUMP_OFF_(opdump_sealed_sink_seal, __VA_ARGS__)
#define opdump_sealed_sink_seals(...) OPDUMP_OFF_(opdump_sealed_sink_seals, __VA_ARGS__)
#define opdump_history_sink_size(...) OPDUMP_SIZE_(opdump_history_sink_size, __VA_ARGS__)
#define opdump_history_sink_create(a, b, c, d, e) OPDUMP_MAKE_(e, opdump_history_sink_create, a, b, c, d)
#define opdump_history_sink_keep(...) OPDUMP_OFF_(opdump_history_sink_keep, __VA_ARGS__)
#define opdump_history_sink_trigger(...) OPDUMP_OFF_(opdump_history_sink_trigger, __VA_ARGS__)
#define opdump_history_sink_in_pieces(...) OPDUMP_OFF_(opdump_history_sink_in_pieces, __VA_ARGS__)
#define opdump_history_sink_hand_on(a, b, c) OPDUMP_LAST_(c, sizeof(int), opdump_history_sink_hand_on, a, b)
#define opdump_history_sink_counts(a, b, c) OPDUMP_SET_(b, c, opdump_history_sink_counts(a, b, c), a, c)
#define opdump_trigger_sink_size(...) OPDUMP_SIZE_(opdump_trigger_sink_size, __VA_ARGS__)
#define opdump_trigger_sink_create(a, b, c, d) OPDUMP_MAKE_(d, opdump_trigger_sink_create, a, b, c)
#define opdump_trigger_sink_fire(...) OPDUMP_OFF_(opdump_trigger_sink_fire, __VA_ARGS__)
#define opdump_trigger_sink_counts(a, b, c, d) \
  OPDUMP_SET_(c, d, opdump_trigger_sink_counts(a, b, c, d), a, b, d)
#define opdump_config_size(...) OPDUMP_SIZE_(opdump_config_size, __VA_ARGS__)
#define opdump_plan_size(a, b, c) OPDUMP_LAST_(c, sizeof(size_t), opdump_plan_size, a, b)
#define opdump_config_active(...) OPDUMP_OFF_(opdump_config_active, __VA_ARGS__)
#define opdump_config_ring_bytes(...) OPDUMP_COUNT_(opdump_config_ring_bytes, __VA_ARGS__)
#define opdump_session_size(...) OPDUMP_SIZE_(opdump_session_size, __VA_ARGS__)
#define opdump_extras_size() ((size_t)1)
#define opdump_extras_create(a, b, c, d) OPDUMP_MAKE_(d, opdump_extras_create, a, b, c)
#define opdump_faults_size(...) OPDUMP_SIZE_(opdump_faults_size, __VA_ARGS__)
#define opdump_faults_create(a, b, c, d) OPDUMP_MAKE_(d, opdump_faults_create, a, b, c)
#define opdump_log_size() ((size_t)1)
#define opdump_log_create(a, b, c, d, e, f) OPDUMP_MAKE_(f, opdump_log_create, a, b, c, d, e)
#define opdump_session_configure(...) OPDUMP_OFF_(opdump_session_configure, __VA_ARGS__)
#define opdump_session_init(...) OPDUMP_OFF_(opdump_session_init, __VA_ARGS__)
#define opdump_session_set_config(...) OPDUMP_OFF_(opdump_session_set_config, __VA_ARGS__)
#define opdump_session_finalize_some(...) OPDUMP_OFF_(opdump_session_finalize_some, __VA_ARGS__)
#define opdump_session_flush(...) OPDUMP_OFF_(opdump_session_flush, __VA_ARGS__)
#define opdump_session_sync(...) OPDUMP_OFF_(opdump_session_sync, __VA_ARGS__)
#define opdump_session_overflows(...) OPDUMP_COUNT_(opdump_session_overflows, __VA_ARGS__)
#define opdump_session_overwrites(...) OPDUMP_COUNT_(opdump_session_overwrites, __VA_ARGS__)
#define opdump_session_first_bad_op(a, b, c) OPDUMP_SET_(b, c, opdump_session_first_bad_op(a, b, c), a, c)
#define opdump_session_last_sink_failure(...) OPDUMP_OFF_(opdump_session_last_sink_failure, __VA_ARGS__)
#define opdump_session_journal_failure(...) OPDUMP_OFF_(opdump_session_journal_failure, __VA_ARGS__)
#define opdump_provenance_size() ((size_t)1)
#define opdump_session_tell_provenance(...) OPDUMP_OFF_(opdump_session_tell_provenance, __VA_ARGS__)
#define opdump_note_build_id(a, b, c) OPDUMP_LAST_(c, 1, opdump_note_build_id, a, b)
#define opdump_config_digest(a, b, c) OPDUMP_LAST_(c, 1, opdump_config_digest, a, b)
#define opdump_session_tell_clock(...) OPDUMP_OFF_(opdump_session_tell_clock, __VA_ARGS__)
#define opdump_model_size(...) OPDUMP_SIZE_(opdump_model_size, __VA_ARGS__)
#define opdump_model_unload(...) OPDUMP_OFF_(opdump_model_unload, __VA_ARGS__)
#define opdump_model_matched_ops(...) OPDUMP_COUNT_(opdump_model_matched_ops, __VA_ARGS__)
#define opdump_recorder_size(...) OPDUMP_SIZE_(opdump_recorder_size, __VA_ARGS__)
#define opdump_model_count_size(...) OPDUMP_SIZE_(opdump_model_count_size, __VA_ARGS__)
#define opdump_model_count_ops(...) OPDUMP_OFF_(opdump_model_count_ops, __VA_ARGS__)
#define opdump_model_op_counts(a, b, c, d) OPDUMP_SET_(c, d, opdump_model_op_counts(a, b, c, d), a, b, d)
#define opdump_model_restart_counts(...) OPDUMP_OFF_(opdump_model_restart_counts, __VA_ARGS__)
#define opdump_recorder_remove(...) OPDUMP_OFF_(opdump_recorder_remove, __VA_ARGS__)
#define opdump_begin_step_at(...) OPDUMP_OFF_(opdump_begin_step_at, __VA_ARGS__)
#define opdump_capture_overflow(...) OPDUMP_OFF_(opdump_capture_overflow, __VA_ARGS__)
#define opdump_begin_op(...) OPDUMP_OFF_(opdump_begin_op, __VA_ARGS__)
#define opdump_capture_failure(...) OPDUMP_OFF_(opdump_capture_failure, __VA_ARGS__)
#define opdump_session_crash_flush(...) OPDUMP_OFF_(opdump_session_crash_flush, __VA_ARGS__)
#define opdump_wants_single_ops(...) OPDUMP_OFF_(opdump_wants_single_ops, __VA_ARGS__)
#define opdump_capture_single_op(...) OPDUMP_OFF_(opdump_capture_single_op, __VA_ARGS__)

#define opdump_program_build_id(a) OPDUMP_SET_(a, 1, opdump_program_build_id(a), 0)
#define opdump_system_clock() ((const opdump_clock*)0)
#define opdump_system_sealer_size() ((size_t)1)
#define opdump_system_sealer_create(a, b, c, d) \
  OPDUMP_SET_(c, d, opdump_system_sealer_create(a, b, c, d), a, b, d)
#define opdump_directory_sink_size() ((size_t)1)
#define opdump_directory_sink_create(a, b, c) OPDUMP_MAKE_(c, opdump_directory_sink_create, a, b)
#define opdump_config_parse(a, b, c, d, e, f, g) \
  OPDUMP_SET_(e, sizeof(void*), opdump_config_parse(a, b, c, d, e, f, g), a, b, c, d, f, g)
#define opdump_config_parse_triggers(a, b, c, d, e, f, g) \
  OPDUMP_SET_(e, sizeof(void*), opdump_config_parse_triggers(a, b, c, d, e, f, g), a, b, c, d, f, g)
#define opdump_config_read_triggers(a, b, c, d, e, f) \
  OPDUMP_SET_(d, sizeof(void*), opdump_config_read_triggers(a, b, c, d, e, f), a, b, c, e, f)
#define opdump_config_file_size(...) OPDUMP_SIZE_(opdump_config_file_size, __VA_ARGS__)
#define opdump_config_read(a, b, c, d, e, f) \
  OPDUMP_SET_(d, sizeof(void*), opdump_config_read(a, b, c, d, e, f), a, b, c, e, f)
#define opdump_drain_thread_size() ((size_t)1)
#define opdump_drain_thread_start(a, b, c, d) OPDUMP_MAKE_(d, opdump_drain_thread_start, a, b, c)
#define opdump_drain_thread_stop(...) ((void)opdump_off_(0, __VA_ARGS__))
#define opdump_crash_dump_size() ((size_t)1)
#define opdump_crash_dump_install(a, b, c, d, e, f) OPDUMP_MAKE_(f, opdump_crash_dump_install, a, b, c, d, e)
#define opdump_crash_dump_remove(...) ((void)opdump_off_(0, __VA_ARGS__))
#endif
