#include "opdump/opdump_more.h"
#ifndef OPDUMP_OPDUMP_SYSTEM_H
#define OPDUMP_OPDUMP_SYSTEM_H
#ifdef __cplusplus
extern "C" {
#endif
/* == With an operating system == */

/* Libraries for machines without one do not have what follows. */

/**
 * Since 1.8: puts the GNU build-id of the running program into `text`, as opdump_note_build_id does.
 * OPDUMP_ERR_NOT_FOUND when the program was linked without one.
 */
opdump_status opdump_program_build_id(char text[65]);

/** The system's clocks, for any number of threads. Static. The first call reads a file of sysfs: at boot. */
const opdump_clock* opdump_system_clock(void);

size_t opdump_system_sealer_size(void);

/**
 * Since 1.10: makes `sealer`, of whose `sealer_bytes`, its size, all are filled, seal by libsodium, which is
 * looked for at run time. `memory` belongs to it until its `end`. For one sink. OPDUMP_ERR_LIBRARY_MISSING
 * where there is no libsodium, OPDUMP_ERR_SYMBOL_MISSING for another library of that name,
 * OPDUMP_ERR_DRIVER_FAILED when it finds no random numbers.
 */
opdump_status opdump_system_sealer_create(void* memory, size_t bytes, opdump_sealer* sealer,
                                          size_t sealer_bytes);

size_t opdump_directory_sink_size(void);

/**
 * A dump as a tree of files below the config's `dump_path`. A relative one begins at the working directory as it
 * was when the sink was made, or configured last by opdump_session_configure or opdump_session_boot.
 */
opdump_status opdump_directory_sink_create(void* memory, size_t bytes, opdump_sink** sink);

/**
 * Takes the text of a config file of any dialect, or a plan. The text is not needed any more afterwards, a
 * plan is referred to. OPDUMP_ERR_CONFIG_REFUSED with the key, the reason and what to do in `message`, which
 * is cut to `message_bytes` and ends with a zero; NULL: not wanted.
 */
opdump_status opdump_config_parse(void* memory, size_t bytes, const char* text, size_t text_bytes,
                                  opdump_config** config, char* message, size_t message_bytes);

/**
 * Since 1.10: opdump_config_parse and opdump_config_read that take "trigger" and "trigger_limits" too, which
 * the others refuse: for programs with an opdump_trigger_sink. They link the reader of these keys.
 */
opdump_status opdump_config_parse_triggers(void* memory, size_t bytes, const char* text, size_t text_bytes,
                                           opdump_config** config, char* message, size_t message_bytes);

opdump_status opdump_config_read_triggers(void* memory, size_t bytes, const char* path,
                                          opdump_config** config, char* message, size_t message_bytes);

/**
 * Bytes that are enough for the config file `path` as it is now; 0 when it cannot be read. NULL, here and to read:
 * the file that OPDUMP_CONFIG names, or else MINDSPORE_DUMP_CONFIG; without either OPDUMP_ERR_NOT_FOUND.
 */
size_t opdump_config_file_size(const char* path);

/** The same of a file; `message` then begins with FILE:LINE:COLUMN. A plan in it is copied. */
opdump_status opdump_config_read(void* memory, size_t bytes, const char* path, opdump_config** config,
                                 char* message, size_t message_bytes);

/** A thread that drains one session. */
typedef struct opdump_drain_thread opdump_drain_thread;

size_t opdump_drain_thread_size(void);

/** While no recorder captures. OPDUMP_ERR_DRAINER_ATTACHED when there is one; OPDUMP_ERR_TOO_MANY_OBJECTS. */
opdump_status opdump_drain_thread_start(opdump_session* session, void* memory, size_t bytes,
                                        opdump_drain_thread** thread);

/** Returns when the rings are empty and the thread has ended; its memory is free. NULL does nothing. */
void opdump_drain_thread_stop(opdump_drain_thread* thread);

/** What is dumped when the process dies of SIGSEGV, SIGBUS, SIGILL, SIGFPE or SIGABRT. */
typedef struct opdump_crash_dump opdump_crash_dump;

size_t opdump_crash_dump_size(void);

/**
 * From now on, when the process dies, what the rings hold is written, and the operator that was running on
 * `recorder` if the config asks for failures; then the signal goes to who handled it before. By the thread
 * that captures with `recorder`. `sink` is the session's, a directory sink; OPDUMP_ERR_INVALID_ARGUMENT for
 * another. OPDUMP_ERR_ALREADY_INITIALISED when one is installed; OPDUMP_ERR_NOT_SUPPORTED by a library
 * without the dumps that find a bug.
 */
opdump_status opdump_crash_dump_install(opdump_session* session, opdump_sink* sink, opdump_recorder* recorder,
                                        void* memory, size_t bytes, opdump_crash_dump** dump);

/** Puts back what was there before; its memory is free. NULL does nothing. By the same thread. */
void opdump_crash_dump_remove(opdump_crash_dump* dump);
#ifdef __cplusplus
}
#endif
#endif
