#ifndef OPDUMP_OPDUMP_H
#define OPDUMP_OPDUMP_H
/**
 * opdump for C: what firmware needs to dump its tensors. The C++ headers say the same in more words; what a
 * call here means, the call of that name there means too. C99 and C++.
 *
 *     at boot      make sink, session, recorder and config in memory of yours; opdump_session_boot,
 *                  opdump_model_load
 *     each step    opdump_begin_step; after each operator, if opdump_wants it, opdump_capture;
 *                  opdump_end_step
 *     idle loop    opdump_session_drain, or a drain thread
 *     at the end   opdump_session_finalize
 *
 * Memory. Handles are opaque and live in memory of the caller's, of any alignment, which stays the handle's
 * as long as it is used and is neither moved nor copied; a call of ..._size says how much. Nothing here
 * allocates but opdump_config_parse and opdump_config_read while they run. What a comment does not call
 * copied must stay as it is as long as the handle.
 *
 * Errors. A call returns OPDUMP_OK or why it could not; opdump_status_text says it in words. NULL for a handle, an
 * option struct or a place for a result is OPDUMP_ERR_INVALID_ARGUMENT. A handle that could not be made is set to
 * NULL, and calls with it then say so and do nothing, so that inference goes on without a dump.
 *
 * Threads. Those of the C++ classes: one control context for sessions, models, configs and sinks; one drain
 * context; each recorder in its own, which may be an interrupt handler, with OPDUMP_RECORDER_DROP. Callbacks must return: no longjmp, no
 * C++ exceptions.
 *
 * ABI. Within one OPDUMP_API_MAJOR
 *  - a function stays, with its parameters and what it does; values of enumerations stay;
 *  - a struct that begins with `struct_bytes` may grow at its end: the caller sets that to sizeof, what is
 *    not there, or not whole, counts as zero, and zero always stands for what was done before the field was
 *    there. Fields that the library does not know yet have to be zero: OPDUMP_ERR_NOT_SUPPORTED. A size beyond
 *    OPDUMP_MAX_STRUCT_BYTES is no size: OPDUMP_ERR_INVALID_ARGUMENT, and the library reads nothing behind it;
 *  - a struct that a call fills may grow too: the caller passes its size;
 *  - all other structs stay as they are;
 *  - sizes of handles may change with the library, so they are asked for at run time.
 * A program that was compiled with minor version n works with a library of n or later: opdump_api_version.
 */
#include <stddef.h>
#include <stdint.h>

#include "opdump/opdump_values.h"

#ifdef __cplusplus
extern "C" {
#endif

#define OPDUMP_API_MAJOR 1
#define OPDUMP_API_MINOR 10

/** No struct here will ever have more bytes. */
#define OPDUMP_MAX_STRUCT_BYTES 4096

/* == Statuses == */

/** One of the values of opdump_values.h, or one that a later library knows. */
typedef int32_t opdump_status;

/** The cause in a few words. Static; never NULL. */
const char* opdump_status_text(opdump_status status);

/* == Tensors, operators, models == */

/** One tensor as it lies in memory when its operator has run; it need only live during the call that takes it. */
typedef struct opdump_tensor {
  uint64_t address;      /**< as the session's device memory understands it; a pointer in plain memory */
  uint64_t bytes;        /**< to capture; may exceed what the shape needs (padding), never fall short of it */
  int32_t dtype;         /**< OPDUMP_FLOAT32, ... */
  int32_t format;        /**< OPDUMP_FORMAT_ND, ... */
  uint32_t rank;         /**< at most 32 */
  int32_t address_kind;  /**< 0; or 1 to 5, kinds of address of CANN's nano device, which are only noted */
  const uint64_t* shape; /**< `rank` dims, outermost first */
  const struct opdump_original* original; /**< NULL: the same in the framework */
} opdump_tensor;

/** For `task_id` and `stream_id`: the runtime has none. */
#define OPDUMP_NO_ID 65535u

/** One operator. */
typedef struct opdump_op {
  const char* name;
  const char* type;
  uint32_t task_id;
  uint32_t stream_id;
  const char* const* original_names; /**< operators of the framework that were fused into this one */
  const struct opdump_attribute* attributes;
  uint32_t original_name_count;
  uint32_t attribute_count;
  uint8_t level;  /**< OPDUMP_LEVEL_... */
  uint8_t marked; /**< 1: the program wants it dumped, whatever its name */
} opdump_op;

typedef struct opdump_model_desc {
  size_t struct_bytes;
  const char* name;       /**< of the model's file; a config's `model_name` is compared with it first */
  const char* graph_name; /**< inside the file, compared second; NULL: none */
  uint32_t id;
  uint32_t op_count;
  const opdump_op* ops; /**< in execution order; an operator's index is its position here */
} opdump_model_desc;

/* == What a port supplies == */

/** Lets the port distinguish the copies that are under way; the library does not look at it. */
typedef struct opdump_copy {
  uint64_t words[2];
} opdump_copy;

/** Memory that tensors live in. Only `copy` is required: what is NULL or 0 the memory does not have. */
typedef struct opdump_memory {
  size_t struct_bytes;
  void* context; /**< handed to each function */

  /**
   * Copies `bytes` bytes, in this machine's byte order, from device address `from` to `to`, and returns when
   * they are there. Anything but OPDUMP_OK loses the record, which is counted. Called in the recorder's
   * context, like the rest.
   */
  opdump_status (*copy)(void* context, void* to, uint64_t from, size_t bytes);

  /**
   * The same, but returns with the copy under way, so that the next piece of a tensor can be started
   * meanwhile; up to four of one recorder are. OPDUMP_ERR_NOT_SUPPORTED when this one cannot be: `copy` is
   * then called. Needs `complete`. With OPDUMP_SMALL_CODE `copy` is called for each.
   */
  opdump_status (*start)(void* context, opdump_copy* copy, void* to, uint64_t from, size_t bytes);

  /**
   * Sets `over` to 1 when the copy is over, and to 0 when it still is not after `limit_ms`. An error: over,
   * and failed. Once a copy is over, `to` must not be written any more. One that does not end within the
   * session's `block_limit_ms` loses its record, and all later ones of the recorder until it does; so that
   * limit must not be 0 here.
   */
  opdump_status (*complete)(void* context, opdump_copy* copy, uint32_t limit_ms, int* over);

  /** Before a record's first byte is read: returns when copies may see what the stream's operators wrote. */
  opdump_status (*fence)(void* context, uint32_t stream_id);

  uint32_t alignment;   /**< a power of two, up to 64, that pieces are to begin at, where they can; 0: any */
  uint32_t whole_units; /**< 1: their sizes are to be multiples of it too, where they can */
  uint32_t max_bytes;   /**< of one copy, at least 16 and `alignment`; 0: any */

  /**
   * Behind `fence`, for each tensor of a record before its first byte is read, such as by `copy`:
   * invalidates what the data cache holds of it. Since 1.5.
   */
  void (*will_read)(void* context, uint64_t from, uint64_t bytes);
} opdump_memory;

typedef struct opdump_clock {
  size_t struct_bytes;
  void* context;
  /** Microseconds since 1970, or any count of them. In recorders' contexts. */
  uint64_t (*unix_us)(void* context);
  int32_t (*utc_offset_seconds)(void* context); /**< to local time; NULL: 0 */
  uint32_t (*monotonic_ms)(void* context);      /**< wraps at 32 bits */
  void (*pause)(void* context); /**< gives way for some tens of microseconds; NULL: does not */
} opdump_clock;

/* == Sinks == */

/** Where a dump goes. */
typedef struct opdump_sink opdump_sink;

/** Ends a sink that no session uses any more; its memory is free. NULL does nothing. */
void opdump_sink_destroy(opdump_sink* sink);

enum { OPDUMP_FLASH_OVERWRITE_OLDEST = 0, OPDUMP_FLASH_STOP_WHEN_FULL = 1 };

/** A flash part, or the part of it that the log may use: its geometry and the port's functions. */
typedef struct opdump_flash {
  size_t struct_bytes;
  void* context;
  uint32_t block_bytes;    /**< erased at once */
  uint32_t block_count;    /**< 3 to 65535 */
  uint32_t program_bytes;  /**< programs begin and end at multiples of it */
  uint32_t page_bytes;     /**< collected in RAM and programmed at once; 0: 256 */
  uint32_t policy;         /**< when every block is in use */
  uint32_t erase_budget;   /**< erases until the next create; 0: no limit */
  uint8_t erased;          /**< what an erased byte reads as: 0xff or 0 */
  uint8_t bits_only_clear; /**< 1: NOR flash, which may be programmed again where it was left erased */
  uint8_t verify;          /**< 1: reads back all that was programmed or erased */
  uint8_t prepared_blocks; /**< that opdump_flash_log_prepare keeps ready */

  opdump_status (*read)(void* context, uint32_t block, uint32_t offset, void* to, size_t bytes);
  opdump_status (*program)(void* context, uint32_t block, uint32_t offset, const void* from, size_t bytes);
  opdump_status (*erase)(void* context, uint32_t block);
  opdump_status (*sync)(void* context);
  void (*protect)(void* context, int on); /**< NULL: the part has no write protection */

  /** 1: opdump_flash_log_erase_ahead alone erases, and `erase_budget` does not count. Since 1.5. */
  uint32_t erase_ahead;
} opdump_flash;

/**
 * A dump in raw flash, which `opdump extract` turns into files. Reads the headers of all blocks and writes
 * nothing. `flash` is copied. OPDUMP_ERR_INVALID_ARGUMENT for an unusable geometry or a missing function;
 * OPDUMP_ERR_NOT_SUPPORTED when a newer version or another geometry wrote there: erase the part first.
 */
opdump_status opdump_flash_log_create(void* memory, size_t bytes, const opdump_flash* flash,
                                      opdump_sink** sink);

/**
 * One erase or program ahead of need, for idle time; `more` (may be NULL) becomes 1 when it should be called again.
 */
opdump_status opdump_flash_log_prepare(opdump_sink* sink, int* more);

/* == Configs == */

/** What a config file asks for. It stays until the sessions that it was given to are finalized. */
typedef struct opdump_config opdump_config;

/**
 * Takes a plan that `opdump compile` has made. The config refers to `plan`, which may lie in flash, at any address.
 * OPDUMP_ERR_NOT_A_PLAN, OPDUMP_ERR_WRONG_BYTE_ORDER, OPDUMP_ERR_TRUNCATED, OPDUMP_ERR_DAMAGED,
 * OPDUMP_ERR_NEWER_VERSION or OPDUMP_ERR_MALFORMED for bytes that are no plan; OPDUMP_ERR_NOT_SUPPORTED for one with
 * a seal, a privacy or triggers where the library is of OPDUMP_SMALL_CODE; OPDUMP_ERR_NO_MEMORY.
 */
opdump_status opdump_config_load_plan(void* memory, size_t bytes, const void* plan, size_t plan_bytes,
                                      opdump_config** config);

/* == Sessions == */

typedef struct opdump_session opdump_session;

/** What a recorder does when its ring has no room. */
enum {
  OPDUMP_WHEN_FULL_DROP = 0,  /**< lose the record at once, counted */
  OPDUMP_WHEN_FULL_BLOCK = 1, /**< wait for the drainer up to a limit, then lose it */
  OPDUMP_WHEN_FULL_INLINE =
      2, /**< empty the ring in the caller; recorders without a `when_full` and drain calls are then one
              context */
  OPDUMP_WHEN_FULL_DEGRADE = 3 /**< keep its statistics instead, where there are extras */
};

typedef struct opdump_session_options {
  size_t struct_bytes;
  const opdump_memory* memory;  /**< copied; NULL: plain memory */
  const opdump_clock* clock;    /**< copied; required */
  opdump_sink* sink;            /**< required */
  struct opdump_extras* extras; /**< NULL: configs that ask for them are OPDUMP_ERR_NOT_SUPPORTED */
  uint32_t device_id;
  uint32_t when_full;
  uint32_t block_limit_ms;      /**< longest wait without progress; 0: none */
  uint32_t journal;             /**< OPDUMP_JOURNAL_... */
  uint32_t name_bytes;          /**< longest name of a model, an operator or its type; 0: 128 */
  struct opdump_log* log;       /**< NULL: nobody hears */
  struct opdump_faults* faults; /**< for this session alone; NULL: as with `extras` */
} opdump_session_options;

opdump_status opdump_session_create(void* memory, size_t bytes, const opdump_session_options* options,
                                    opdump_session** session);

/**
 * Boots: opdump_session_configure, opdump_session_init and opdump_session_set_config in one. Errors as theirs;
 * the session is not initialised then, captures nothing and can be booted again. Since 1.4.
 */
opdump_status opdump_session_boot(opdump_session* session, const opdump_config* config);

/**
 * Switches dumping off, moves everything captured to the sink and makes it durable. OPDUMP_ERR_STEP_OPEN and
 * OPDUMP_ERR_DRAINER_ATTACHED, also in a callback of the sink, change nothing. After any other error, such as that of
 * opdump_session_journal_failure, the session is off all the same.
 */
opdump_status opdump_session_finalize(opdump_session* session);

/**
 * Moves up to `budget_bytes` from each ring to the sink, and at most 255 bytes and the head of a record more;
 * returns the bytes moved, 0 when there was nothing, and in a callback of the sink, which must not drain.
 */
size_t opdump_session_drain(opdump_session* session, size_t budget_bytes);

/** What became of the records since the session was made. All counts wrap at 32 bits. */
typedef struct opdump_counts {
  uint32_t wanted;
  uint32_t captured;      /**< whole in a ring */
  uint32_t degraded;      /**< reduced in a ring */
  uint32_t empty;         /**< no tensor had a byte */
  uint32_t invalid;       /**< lost: a tensor shorter than its shape, names or ranks beyond the limits, or an
                               argument that is none */
  uint32_t ring_full;     /**< lost: no room */
  uint32_t timed_out;     /**< lost: no room within the limit */
  uint32_t too_large;     /**< lost: the head does not fit the ring */
  uint32_t device_failed; /**< lost: a copy from device memory failed */
  uint32_t written;       /**< committed to the sink */
  uint32_t sink_failed;   /**< lost: the sink refused or failed */
  uint32_t quota;         /**< lost: the dump has all the room it may take */
  uint32_t lost;          /**< all those that are lost: dropped and aborted; since 1.2: */
  uint32_t dropped;       /**< lost before any of it was in a ring */
  uint32_t aborted;       /**< lost later: what was there of it was taken back */
} opdump_counts;

/** Fills `bytes` bytes, at most sizeof(opdump_counts) as the library knows it, and the rest of them with zeros. */
opdump_status opdump_session_counts(const opdump_session* session, opdump_counts* counts, size_t bytes);

/* == Loaded models == */

typedef struct opdump_model opdump_model;

/**
 * Resolves the config in force against a model. `desc` and its arrays are copied, the texts are referred to.
 * OPDUMP_ERR_NAME_TOO_LONG leaves the model loaded but uncaptured.
 */
opdump_status opdump_model_load(opdump_session* session, const opdump_model_desc* desc, void* memory,
                                size_t bytes, opdump_model** model);

/* == Recorders == */

/** One context that captures. */
typedef struct opdump_recorder opdump_recorder;

typedef struct opdump_recorder_options {
  size_t struct_bytes;
  uint32_t ring_bytes;  /**< at least 1024 is a good start; larger tensors stream through it */
  uint32_t max_tensors; /**< inputs and outputs of one operator; 0: 16 */
  uint32_t known_heads; /**< operators whose names and shapes go through the ring only once; 0: none */
  uint32_t reserved;    /**< 0; keeps what follows out of what was padding before 1.4 */
  uint32_t when_full;   /**< since 1.4: OPDUMP_RECORDER_...; an interrupt's recorder is to drop */
} opdump_recorder_options;

/**
 * OPDUMP_ERR_NO_FREE_RECORDER when the session serves no more; OPDUMP_ERR_INVALID_ARGUMENT for too small a
 * ring or an unknown `when_full`.
 */
opdump_status opdump_recorder_add(opdump_session* session, const opdump_recorder_options* options,
                                  void* memory, size_t bytes, opdump_recorder** recorder);

/**
 * Starts the model's next execution; steps count from 0 since it was loaded. OPDUMP_ERR_INVALID_ARGUMENT, and
 * nothing changes, for a model of another session.
 */
opdump_status opdump_begin_step(opdump_recorder* recorder, opdump_model* model);

/** 1: the open step captures operator `op`; 0 also when `op` is no index of the model or no step is open. */
int opdump_wants(const opdump_recorder* recorder, uint32_t op);

/**
 * Captures operator `op` of the open step, which has just run; the tensors' bytes are copied before it returns.
 * OPDUMP_OK also when the operator is not wanted. OPDUMP_ERR_STEP_NOT_OPEN and OPDUMP_ERR_NO_SUCH_OP change nothing;
 * OPDUMP_ERR_DEGRADED: statistics were kept; any other: the record is lost, counted, and leaves nothing in the dump.
 */
opdump_status opdump_capture(opdump_recorder* recorder, uint32_t op, const opdump_tensor* inputs,
                             uint32_t input_count, const opdump_tensor* outputs, uint32_t output_count);

opdump_status opdump_end_step(opdump_recorder* recorder);

/* == Static memory ==
 *
 * Bytes that are enough for a handle of a library with default knobs, which are others without a system
 * (opdump/knobs.hpp). Its sources are not compiled when they are too few. What a handle takes exactly, and with other
 * knobs, say the calls of ..._size.
 */
#if __STDC_HOSTED__ && (defined __unix__ || defined __APPLE__ || defined _WIN32)
#define OPDUMP_BYTES_(os_64, os_32, bare_64, bare_32, cortex_m) (sizeof(void*) == 8 ? (os_64) : (os_32))
#elif defined __ARM_ARCH_PROFILE && __ARM_ARCH_PROFILE == 'M'
#define OPDUMP_BYTES_(os_64, os_32, bare_64, bare_32, cortex_m) (cortex_m)
#else
#define OPDUMP_BYTES_(os_64, os_32, bare_64, bare_32, cortex_m) (sizeof(void*) == 8 ? (bare_64) : (bare_32))
#endif

/** `name_bytes` as the options have it, 128 for their 0. Without `faults`. */
#define OPDUMP_SESSION_BYTES(name_bytes) \
  (OPDUMP_BYTES_(11584u, 9408u, 2064u, 1872u, 1520u) + 6u * (name_bytes))
/** Of a recorder without `known_heads`. */
#define OPDUMP_RECORDER_BYTES(ring_bytes, max_tensors)          \
  (OPDUMP_BYTES_(184u, 144u, 144u, 128u, 128u) + (ring_bytes) + \
   OPDUMP_BYTES_(96u, 72u, 88u, 64u, 64u) * (max_tensors))
/** Of operators without original names and attributes. */
#define OPDUMP_MODEL_BYTES(op_count) \
  (OPDUMP_BYTES_(352u, 224u, 232u, 136u, 136u) + OPDUMP_BYTES_(105u, 57u, 89u, 49u, 49u) * (op_count))
/** Of a compiled config; `plan_memory` is the DUMP_PLAN_MEMORY_BYTES that `opdump compile --c` writes. */
#define OPDUMP_CONFIG_BYTES(plan_memory) (OPDUMP_BYTES_(336u, 240u, 272u, 192u, 192u) + (plan_memory))
/** `page_bytes` as opdump_flash has it, 256 for its 0. */
#define OPDUMP_FLASH_LOG_BYTES(page_bytes) (OPDUMP_BYTES_(592u, 496u, 496u, 384u, 384u) + (page_bytes))

#ifdef __cplusplus
}
#endif
/* What few programs call, and what needs a system. */
#ifndef OPDUMP_CORE_ONLY
#include "opdump/opdump_more.h"
#include "opdump/opdump_system.h"
#endif
#if defined OPDUMP_ENABLED && OPDUMP_ENABLED == 0 && !defined __cplusplus
#include "opdump/impl/c_api/off.h"
#endif
#endif
