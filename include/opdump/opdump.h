#ifndef OPDUMP_OPDUMP_H
#define OPDUMP_OPDUMP_H
/**
 * opdump for C: what firmware needs to dump its tensors. The C++ headers say the same in more words; what a
 * call here means, the call of that name there means too. C99 and C++.
 *
 *     at boot      make sink, session, recorder and config in memory of yours; opdump_session_init,
 *                  opdump_session_set_config, opdump_model_load
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

#ifdef __cplusplus
extern "C" {
#endif

#define OPDUMP_API_MAJOR 1
#define OPDUMP_API_MINOR 10

/** No struct here will ever have more bytes. */
#define OPDUMP_MAX_STRUCT_BYTES 4096

/** The library's OPDUMP_API_MAJOR << 16 | OPDUMP_API_MINOR. */
uint32_t opdump_api_version(void);

/** The library's version, as "0.1.0". */
const char* opdump_version(void);

/* == Statuses == */

/** One of the values below, or one that a later library knows. */
typedef int32_t opdump_status;

enum {
  OPDUMP_OK = 0,

  /* The order of calls. */
  OPDUMP_ERR_NOT_INITIALISED = 1,
  OPDUMP_ERR_ALREADY_INITIALISED = 2,
  OPDUMP_ERR_MODEL_NOT_LOADED = 3,
  OPDUMP_ERR_MODEL_ALREADY_LOADED = 4,
  OPDUMP_ERR_STEP_OPEN = 5,
  OPDUMP_ERR_STEP_NOT_OPEN = 6,
  OPDUMP_ERR_DRAINER_ATTACHED = 7,
  OPDUMP_ERR_RECORDER_BUSY = 8,

  /* What was handed over. */
  OPDUMP_ERR_INVALID_ARGUMENT = 20,
  OPDUMP_ERR_INVALID_TENSOR = 21,
  OPDUMP_ERR_NO_SUCH_OP = 22,
  OPDUMP_ERR_NAME_TOO_LONG = 23,
  OPDUMP_ERR_NO_MEMORY = 24,
  OPDUMP_ERR_NO_FREE_RECORDER = 25,
  OPDUMP_ERR_TOO_MANY_TENSORS = 26,
  OPDUMP_ERR_TOO_MANY_CONFIGS = 27,
  /* Of tensors. Since 1.6; until then, and with OPDUMP_SMALL_CODE, all of these are INVALID_TENSOR. */
  OPDUMP_ERR_UNKNOWN_DTYPE = 28,
  OPDUMP_ERR_UNCOUNTABLE_SHAPE = 29,
  OPDUMP_ERR_TOO_MANY_DIMS = 30,
  OPDUMP_ERR_MISSING_ARGUMENT = 31,
  OPDUMP_ERR_UNRECORDABLE = 32,

  /* Room. */
  OPDUMP_ERR_RING_FULL = 40,
  OPDUMP_ERR_TOO_LARGE = 41,
  OPDUMP_ERR_TIMEOUT = 42,
  OPDUMP_ERR_UNFINISHED = 43,
  OPDUMP_ERR_DEGRADED = 44,

  /* The platform. */
  OPDUMP_ERR_DEVICE_COPY_FAILED = 60,
  OPDUMP_ERR_NOT_FOUND = 61,
  OPDUMP_ERR_ALREADY_EXISTS = 62,
  OPDUMP_ERR_PERMISSION_DENIED = 63,
  OPDUMP_ERR_NO_SPACE = 64,
  OPDUMP_ERR_IO = 65,
  OPDUMP_ERR_NOT_SUPPORTED = 66,
  OPDUMP_ERR_TOO_MANY_OBJECTS = 67,
  OPDUMP_ERR_QUOTA_EXCEEDED = 68,
  OPDUMP_ERR_FILE_TOO_LARGE = 69, /* Since 1.10. */
  OPDUMP_ERR_LIBRARY_MISSING = 70,
  OPDUMP_ERR_SYMBOL_MISSING = 71,
  OPDUMP_ERR_DRIVER_FAILED = 72,
  OPDUMP_ERR_WRONG_DEVICE = 73,
  OPDUMP_ERR_NOT_REGISTERED = 74,

  /* Bytes from outside. */
  OPDUMP_ERR_CONFIG_REFUSED = 80,
  OPDUMP_ERR_NOT_A_RECORD = 81,
  OPDUMP_ERR_TRUNCATED = 82,
  OPDUMP_ERR_MALFORMED = 83,
  OPDUMP_ERR_NOT_A_PLAN = 84,
  OPDUMP_ERR_WRONG_BYTE_ORDER = 85,
  OPDUMP_ERR_DAMAGED = 86,
  OPDUMP_ERR_NEWER_VERSION = 87
};

/** The cause in a few words. Static; never NULL. */
const char* opdump_status_text(opdump_status status);

/* == Tensors, operators, models == */

/** Element types. */
enum {
  OPDUMP_UNDEFINED = 0,
  OPDUMP_FLOAT32 = 1,
  OPDUMP_FLOAT16 = 2,
  OPDUMP_BFLOAT16 = 3,
  OPDUMP_FLOAT64 = 4,
  OPDUMP_INT8 = 5,
  OPDUMP_INT16 = 6,
  OPDUMP_INT32 = 7,
  OPDUMP_INT64 = 8,
  OPDUMP_UINT8 = 9,
  OPDUMP_UINT16 = 10,
  OPDUMP_UINT32 = 11,
  OPDUMP_UINT64 = 12,
  OPDUMP_BOOLEAN = 13,
  OPDUMP_COMPLEX32 = 14,
  OPDUMP_COMPLEX64 = 15,
  OPDUMP_COMPLEX128 = 16,
  OPDUMP_INT4 = 17,
  OPDUMP_INT2 = 18,
  OPDUMP_UINT2 = 19,
  OPDUMP_UINT1 = 20,
  OPDUMP_HIFLOAT8 = 21,
  OPDUMP_FLOAT8_E5M2 = 22,
  OPDUMP_FLOAT8_E4M3FN = 23,
  OPDUMP_FLOAT8_E8M0 = 24,
  OPDUMP_FLOAT6_E3M2 = 25,
  OPDUMP_FLOAT6_E2M3 = 26,
  OPDUMP_FLOAT4_E2M1 = 27,
  OPDUMP_FLOAT4_E1M2 = 28,
  OPDUMP_HIFLOAT4 = 29,
  OPDUMP_HIFLOAT4_SCALE = 30,
  OPDUMP_QINT8 = 31,
  OPDUMP_QINT16 = 32,
  OPDUMP_QINT32 = 33,
  OPDUMP_QUINT8 = 34,
  OPDUMP_QUINT16 = 35,
  OPDUMP_DUAL_SUB_INT8 = 36,
  OPDUMP_DUAL_SUB_UINT8 = 37,
  OPDUMP_DUAL = 38,
  OPDUMP_STRING = 39,
  OPDUMP_STRING_REF = 40,
  OPDUMP_RESOURCE = 41,
  OPDUMP_VARIANT = 42,
  OPDUMP_UINT4 = 43,
  OPDUMP_FLOAT8_E4M3FNUZ = 44,
  OPDUMP_FLOAT8_E5M2FNUZ = 45
};

/** Memory layouts, with CANN's numbers; others pass through. */
enum {
  OPDUMP_FORMAT_NCHW = 0,
  OPDUMP_FORMAT_NHWC = 1,
  OPDUMP_FORMAT_ND = 2,
  OPDUMP_FORMAT_NC1HWC0 = 3,
  OPDUMP_FORMAT_FRACTAL_Z = 4,
  OPDUMP_FORMAT_NC1HWC0_C04 = 12,
  OPDUMP_FORMAT_FRACTAL_Z_C04 = 13,
  OPDUMP_FORMAT_CHWN = 14,
  OPDUMP_FORMAT_HWCN = 16,
  OPDUMP_FORMAT_NDHWC = 27,
  OPDUMP_FORMAT_FRACTAL_NZ = 29,
  OPDUMP_FORMAT_NCDHW = 30,
  OPDUMP_FORMAT_DHWCN = 31,
  OPDUMP_FORMAT_NDC1HWC0 = 32,
  OPDUMP_FORMAT_FRACTAL_Z_3D = 33,
  OPDUMP_FORMAT_NCL = 47
};

/** A tensor as it was in the framework, where that differs. */
typedef struct opdump_original {
  const char* name; /**< the operator that an output stems from; NULL: the one that is captured */
  int32_t index;    /**< which of that operator's outputs */
  int32_t dtype;    /**< OPDUMP_UNDEFINED: the same as the tensor's */
  int32_t format;
  uint32_t rank;
  const uint64_t*
      shape; /**< `rank` dims in the order of the framework's format; with rank 0 the tensor's shape */
} opdump_original;

/** One tensor as it lies in memory when its operator has run; it need only live during the call that takes it. */
typedef struct opdump_tensor {
  uint64_t address; /**< as the session's device memory understands it; a pointer in plain memory */
  uint64_t bytes;   /**< to capture; may exceed what the shape needs (padding), never fall short of it */
  int32_t dtype;
  int32_t format;
  uint32_t rank;         /**< at most 32 */
  int32_t address_kind;  /**< 0; or 1 to 5, kinds of address of CANN's nano device, which are only noted */
  const uint64_t* shape; /**< `rank` dims, outermost first */
  const opdump_original* original; /**< NULL: the same in the framework */
} opdump_tensor;

/** For `task_id` and `stream_id`: the runtime has none. */
#define OPDUMP_NO_ID 65535u

/** Which of CANN's dump levels an operator stands for. */
enum {
  OPDUMP_LEVEL_BOTH = 0,  /**< it runs as one kernel */
  OPDUMP_LEVEL_OP = 1,    /**< it runs as several, and is taken as a whole */
  OPDUMP_LEVEL_KERNEL = 2 /**< it is one of those kernels */
};

/** An argument that an operator was built with, as text. */
typedef struct opdump_attribute {
  const char* name;
  const char* value;
} opdump_attribute;

/** One operator. */
typedef struct opdump_op {
  const char* name;
  const char* type;
  uint32_t task_id;
  uint32_t stream_id;
  const char* const* original_names; /**< operators of the framework that were fused into this one */
  const opdump_attribute* attributes;
  uint32_t original_name_count;
  uint32_t attribute_count;
  uint8_t level;
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

/** Returns when everything committed so far would survive a loss of power. */
opdump_status opdump_sink_sync(opdump_sink* sink);

enum {
  OPDUMP_PIECE_DATA = 0,      /**< more bytes of the object */
  OPDUMP_PIECE_COMMITTED = 1, /**< the object is whole; no bytes */
  OPDUMP_PIECE_ABORTED = 2,   /**< what came of the object is void, even if it was committed, as an object
                                   that belongs to it was refused; no bytes */
  OPDUMP_PIECE_JOURNAL = 3    /**< more bytes of the journal */
};

/** What a callback sink hands on; it and what it points to are valid during the call. */
typedef struct opdump_piece {
  size_t struct_bytes;
  int32_t kind;
  uint32_t path_bytes;
  const char* path; /**< the object's name, "root/directory/file", without a zero behind it */
  const void* data;
  size_t data_bytes;
} opdump_piece;

/** Takes one piece, in the order of the bytes. Anything but OPDUMP_OK fails the object, which is then aborted. */
typedef opdump_status (*opdump_take_piece)(void* context, const opdump_piece* piece);

/** `path_bytes` is the length of the longest path. */
size_t opdump_callback_sink_size(size_t path_bytes);

/** A dump that goes wherever a function sends it: a network, a debug probe, another processor. */
opdump_status opdump_callback_sink_create(void* memory, size_t bytes, size_t path_bytes,
                                          opdump_take_piece take, void* context, opdump_sink** sink);

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

size_t opdump_flash_log_size(const opdump_flash* flash);

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

/**
 * The number of this boot, since opdump_flash_log_create. No other boot whose bytes the log holds has the same
 * number; it starts at 1 and grows from one boot that writes to the next, often by more than 1.
 * `opdump extract --boot` takes it.
 */
opdump_status opdump_flash_log_boot(opdump_sink* sink, uint32_t* boot);

/**
 * The same for a log with `erase_ahead`, which no other call erases. Where no block was ready a record is
 * refused and counted as lost; after this call the log goes on. Not after opdump_flash_log_emergency. Since
 * 1.5.
 */
opdump_status opdump_flash_log_erase_ahead(opdump_sink* sink, int* more);

/**
 * Bytes that the log takes now without an erase. A call of opdump_session_drain that moves n bytes, or of
 * opdump_session_finalize_some, adds at most 4 * n + 1024 to the log. 0 for a sink of another kind. Since 1.5.
 */
uint32_t opdump_flash_log_ready_bytes(opdump_sink* sink);

/** For fault handlers, with interrupts off: programs what is collected in RAM. */
opdump_status opdump_flash_log_emergency(opdump_sink* sink);

/** A watchdog timer that long operations feed. Since 1.9, as what follows. */
typedef struct opdump_watchdog {
  size_t struct_bytes;
  void* context;
  void (*feed)(void* context); /**< in the context of the operation; must return soon */
  uint16_t every_programs;     /**< how many programs go by between two calls; 0: 8 */
  uint16_t every_reads;        /**< the same of reads, of a few bytes each; 0: 64 */
} opdump_watchdog;

size_t opdump_fed_flash_size(void);

/**
 * Makes `fed` the same part as `flash`, for opdump_flash_log_create: its functions also feed the watchdog,
 * before and after each erase and each sync, and before every n-th program and read. `flash` and `watchdog` are
 * copied; `memory` belongs to `fed`, of which `fed_bytes`, its size, are filled.
 */
opdump_status opdump_fed_flash_create(void* memory, size_t bytes, const opdump_flash* flash,
                                      const opdump_watchdog* watchdog, opdump_flash* fed, size_t fed_bytes);

/* == Sealed dumps. Since 1.10 == */

enum {
  OPDUMP_SEAL_KEY_BYTES = 32,   /**< of a public key of X25519 */
  OPDUMP_SEAL_NONCE_BYTES = 12, /**< of a chunk */
  OPDUMP_SEAL_TAG_BYTES = 16    /**< behind the bytes of a chunk */
};

/**
 * The cryptography of a sealed sink: X25519, HKDF-SHA256 and ChaCha20-Poly1305, put together as
 * impl/format/sealed.hpp says. platform/psa/psa_sealer.h has one over PSA Crypto.
 */
typedef struct opdump_sealer {
  size_t struct_bytes;
  void* context;

  /**
   * Makes a key pair of its own, which must come from a random number generator fit for keys, and from it and
   * the public key `recipient` the key that all later chunks are sealed with. `ephemeral` becomes the public
   * key of that pair; the private one is forgotten. After an error nothing may be sealed. While nothing drains.
   */
  opdump_status (*begin)(void* context, const uint8_t* recipient, uint8_t* ephemeral);

  /**
   * Encrypts all of `chunk` but its last OPDUMP_SEAL_TAG_BYTES in place, and writes the tag of it and of
   * `associated` there. No nonce comes twice between two calls of `begin`. In the drain context.
   */
  opdump_status (*seal)(void* context, const uint8_t* nonce, const void* associated, size_t associated_bytes,
                        void* chunk, size_t chunk_bytes);

  /** Forgets the key; the last call. NULL: there is nothing to do. */
  void (*end)(void* context);
} opdump_sealer;

/** `chunk_bytes`, the text of a chunk: 64 to 1048576. What a cut of power may cost of an object under way. */
size_t opdump_sealed_sink_size(uint32_t chunk_bytes);

/**
 * Seals a dump for one recipient before it reaches `to`: a session's sink, over that of a directory, a flash
 * log, a callback or of another kind, which stays the program's and is destroyed after this one. What is
 * configured for `to` goes there; calls of `to`'s kind take `to`. Passes everything on as it is until a config
 * with "seal" is followed (opdump_session_boot, opdump_session_configure) or opdump_sealed_sink_seal is called.
 * `sealer` is copied; opdump_sink_destroy calls its `end`. `opdump open --key FILE` reads the dump.
 *
 * Names of directories and files, sizes and times stay in clear.
 */
opdump_status opdump_sealed_sink_create(void* memory, size_t bytes, uint32_t chunk_bytes, opdump_sink* to,
                                        const opdump_sealer* sealer, opdump_sink** sink);

/**
 * From now on everything is sealed for `recipient`, the OPDUMP_SEAL_KEY_BYTES of a public key, under a key of
 * its own, whatever configs without "seal" say. Before opdump_session_init. The sealer's error: nothing is taken
 * any more until a call succeeds. OPDUMP_ERR_INVALID_ARGUMENT for a sink of another kind: nothing changes.
 */
opdump_status opdump_sealed_sink_seal(opdump_sink* sink, const uint8_t recipient[32]);

/** 1: what comes is sealed. 0 also for a sink of another kind. */
int opdump_sealed_sink_seals(opdump_sink* sink);

/* == A history. Since 1.10 == */

size_t opdump_history_sink_size(size_t history_bytes);

/**
 * A flight recorder: keeps what the last steps dump in `history_bytes` of RAM, at least 512, and hands it to
 * `to` only after a trigger, together with what the steps afterwards dump. A trigger is a call of
 * opdump_history_sink_trigger, an operator that overflows or one that fails. A config's `history_steps`,
 * `after_steps` and `history_bytes` count for it, where the library is not of OPDUMP_SMALL_CODE;
 * OPDUMP_ERR_NO_MEMORY for more than there is. In front of a sealed sink, what is kept is in clear in RAM and
 * nowhere else. Otherwise as opdump_sealed_sink_create.
 */
opdump_status opdump_history_sink_create(void* memory, size_t bytes, size_t history_bytes, opdump_sink* to,
                                         opdump_sink** sink);

/**
 * What counts where a config does not say: how many steps are kept, 0 (as it was created) for everything is
 * written at once, and how many are written after that of the trigger. Forgets what is kept. Such a session has
 * OPDUMP_JOURNAL_NONE: a journal would name what is gone. Before opdump_session_init.
 */
opdump_status opdump_history_sink_keep(opdump_sink* sink, uint32_t history_steps, uint32_t after_steps);

/** In any context. The history goes to the other sink with the next call that drains, or opdump_sink_sync. */
opdump_status opdump_history_sink_trigger(opdump_sink* sink);

/** From now on only opdump_history_sink_hand_on hands on, so that calls that drain stay short. */
opdump_status opdump_history_sink_in_pieces(opdump_sink* sink);

/**
 * Hands on about `budget_bytes`, at most one name and 512 bytes more, in the drain context; `more` (may be NULL)
 * becomes 1 while something waits. Before the last opdump_sink_sync until it is 0.
 */
opdump_status opdump_history_sink_hand_on(opdump_sink* sink, size_t budget_bytes, int* more);

typedef struct opdump_history_counts {
  uint32_t triggers; /**< how often the history was handed on */
  uint32_t let_go;   /**< objects that were too old, or whose memory was needed */
  uint32_t lost;     /**< objects of the history that the other sink refused */
} opdump_history_counts;

/** Fills `bytes` bytes, as opdump_session_counts does. In the drain context. */
opdump_status opdump_history_sink_counts(opdump_sink* sink, opdump_history_counts* counts, size_t bytes);

/* == Triggers of a config. Since 1.10 == */

/** Of a sink that begins a history's write-outs as a config's "trigger" says. A size of 0 stands for what is
 * named. */
typedef struct opdump_trigger_options {
  size_t struct_bytes;
  opdump_sink* history; /**< by opdump_history_sink_create; stays the program's, and is destroyed later */
  const opdump_clock* clock; /**< that of the session; copied */
  uint32_t triggers;         /**< most that a config may have, at most 64; 0: 4 */
  uint32_t points;           /**< operators, and models whose steps count, that they look at; 0: 16 */
  uint32_t firings;          /**< of a recorder that the drain has not come to, a power of two; 0: 8 */
  uint32_t reserved;
} opdump_trigger_options;

/** 0 for options that cannot be. */
size_t opdump_trigger_sink_size(const opdump_trigger_options* options);

/**
 * A session's sink, over `history`: follows the triggers of a config that the session is booted with, looks at the
 * tensors as they are captured, and begins the write-outs within the config's limits. The journal, which such a
 * session may have, goes past the history and tells what fired. A look takes 1 KiB of stack. Triggers on a "failure"
 * fire by opdump_capture_failure. OPDUMP_ERR_NOT_SUPPORTED where the library is of OPDUMP_SMALL_CODE.
 */
opdump_status opdump_trigger_sink_create(void* memory, size_t bytes, const opdump_trigger_options* options,
                                         opdump_sink** sink);

/**
 * Fires the triggers that the config has under `"call": name`, as of the step that has begun last. In any
 * context. OPDUMP_ERR_INVALID_ARGUMENT when there is none, and for a sink of another kind.
 */
opdump_status opdump_trigger_sink_fire(opdump_sink* sink, const char* name);

typedef struct opdump_trigger_counts {
  uint32_t fired;
  uint32_t cooldown; /**< held back by it */
  uint32_t firings;  /**< by the limit of firings */
  uint32_t bytes;    /**< by the limit of bytes */
  uint32_t crowded;  /**< as the drain was too far behind */
  uint32_t cut;      /**< write-outs that the limit of bytes has ended */
  uint32_t unread;   /**< looks at tensors that could not be read */
  uint32_t looks;
} opdump_trigger_counts;

/** Of the trigger of that number in the config; fills `bytes` bytes, as opdump_session_counts does.
 * OPDUMP_ERR_INVALID_ARGUMENT when there is none. In any context. */
opdump_status opdump_trigger_sink_counts(opdump_sink* sink, uint32_t trigger, opdump_trigger_counts* counts,
                                         size_t bytes);

/* == Configs == */

/** What a config file asks for. It stays until the sessions that it was given to are finalized. */
typedef struct opdump_config opdump_config;

/** Bytes that are enough for any config of `text_bytes` bytes, JSON or plan. Plans usually take far less. */
size_t opdump_config_size(size_t text_bytes);

/**
 * Sets `bytes` to what opdump_config_load_plan needs for `plan`, to within 32 bytes. Reads the plan, and
 * takes about 500 bytes of stack. Errors as opdump_config_load_plan, with `bytes` 0. Since 1.6.
 */
opdump_status opdump_plan_size(const void* plan, size_t plan_bytes, size_t* bytes);

/**
 * Takes a plan that `opdump compile` has made. The config refers to `plan`, which may lie in flash, at any address.
 * OPDUMP_ERR_NOT_A_PLAN, OPDUMP_ERR_WRONG_BYTE_ORDER, OPDUMP_ERR_TRUNCATED, OPDUMP_ERR_DAMAGED,
 * OPDUMP_ERR_NEWER_VERSION or OPDUMP_ERR_MALFORMED for bytes that are no plan; OPDUMP_ERR_NOT_SUPPORTED for one with
 * a seal, a privacy or triggers where the library is of OPDUMP_SMALL_CODE; OPDUMP_ERR_NO_MEMORY.
 */
opdump_status opdump_config_load_plan(void* memory, size_t bytes, const void* plan, size_t plan_bytes,
                                      opdump_config** config);

/** 1: the config asks for something that this build does. */
int opdump_config_active(const opdump_config* config);

/** The ring size that the config's "opdump" object asks for; 0: none. */
uint32_t opdump_config_ring_bytes(const opdump_config* config);

/* == Sessions == */

typedef struct opdump_session opdump_session;

/**
 * Statistics, protobuf and npy files, and tensors taken out of the device's formats, for sessions whose
 * configs may ask for them; code that others do not link.
 */
typedef struct opdump_extras opdump_extras;

size_t opdump_extras_size(void);

/** `memory` is copied; NULL: plain memory. One for each session. */
opdump_status opdump_extras_create(void* at, size_t bytes, const opdump_memory* memory,
                                   opdump_extras** extras);

/** An operator's output that a config watches, found changed, and the operator that ran in between. */
typedef struct opdump_overwrite {
  size_t struct_bytes;
  uint64_t step;
  uint64_t first_byte; /**< of the output; no change lies outside these two */
  uint64_t last_byte;
  const char* by;      /**< names, as the model has them, without a zero behind them */
  const char* watched; /**< the operator that the output is of */
  uint32_t by_bytes;
  uint32_t watched_bytes;
  uint32_t output;
} opdump_overwrite;

typedef struct opdump_faults_options {
  size_t struct_bytes;
  const opdump_memory* memory; /**< copied; NULL: plain memory */
  void* context;               /**< handed to both functions, which are called in recorders' contexts */

  /**
   * Sets `over` to 1 if an operator of that stream overflowed since the last call, else to 0, and resets the
   * report. OPDUMP_ERR_NOT_SUPPORTED, or NULL in place of the function: outputs are searched for infinities and
   * NaNs. Any other error counts as an error of the operator's record.
   */
  opdump_status (*overflowed)(void* context, uint32_t stream_id, int* over);

  /** Hears of overwrites that a config watches for; `*overwrite` is valid during the call. May be NULL. */
  void (*overwritten)(void* context, const opdump_overwrite* overwrite);

  uint32_t watched_ops; /**< most operators that loaded models watch at a time; 0: none can be */
  uint32_t name_bytes;  /**< longest name of one of them, and of one that may overwrite it; 0: 128 */
} opdump_faults_options;

/**
 * Finds operators that overflow and memory that is overwritten, for sessions whose configs may ask for that;
 * code that others do not link.
 */
typedef struct opdump_faults opdump_faults;

size_t opdump_faults_size(const opdump_faults_options* options);

/** `options` is copied. OPDUMP_ERR_NOT_SUPPORTED by a library without the dumps that find a bug. */
opdump_status opdump_faults_create(void* at, size_t bytes, const opdump_faults_options* options,
                                   opdump_faults** faults);

/** Says in a line each what becomes of configs and models. */
typedef struct opdump_log opdump_log;

/** Takes a line of `bytes` bytes, without its end and without a zero, which is good during the call. */
typedef void (*opdump_say)(void* context, const char* line, size_t bytes);

size_t opdump_log_size(void);

/**
 * For the boot message: how many operators of a model match, what that takes per step, and what of a config
 * this library does not do. `partition_bytes` is the room where the dump goes; 0: not known.
 */
opdump_status opdump_log_create(void* memory, size_t bytes, opdump_say say, void* context,
                                uint64_t partition_bytes, opdump_log** log);

/** What a recorder does when its ring has no room. */
enum {
  OPDUMP_WHEN_FULL_DROP = 0,  /**< lose the record at once, counted */
  OPDUMP_WHEN_FULL_BLOCK = 1, /**< wait for the drainer up to a limit, then lose it */
  OPDUMP_WHEN_FULL_INLINE =
      2, /**< empty the ring in the caller; recorders without a `when_full` and drain calls are then one
              context */
  OPDUMP_WHEN_FULL_DEGRADE = 3 /**< keep its statistics instead, where there are extras */
};

/** How much a dump's journal tells. With OPDUMP_SMALL_CODE RECORDS is GAPS. */
enum { OPDUMP_JOURNAL_RECORDS = 0, OPDUMP_JOURNAL_GAPS = 1, OPDUMP_JOURNAL_NONE = 2 };

typedef struct opdump_session_options {
  size_t struct_bytes;
  const opdump_memory* memory; /**< copied; NULL: plain memory */
  const opdump_clock* clock;   /**< copied; required */
  opdump_sink* sink;           /**< required */
  opdump_extras* extras;       /**< NULL: configs that ask for them are OPDUMP_ERR_NOT_SUPPORTED */
  uint32_t device_id;
  uint32_t when_full;
  uint32_t block_limit_ms; /**< longest wait without progress; 0: none */
  uint32_t journal;
  uint32_t name_bytes;   /**< longest name of a model, an operator or its type; 0: 128 */
  opdump_log* log;       /**< NULL: nobody hears */
  opdump_faults* faults; /**< for this session alone; NULL: as with `extras` */
} opdump_session_options;

size_t opdump_session_size(const opdump_session_options* options);
opdump_status opdump_session_create(void* memory, size_t bytes, const opdump_session_options* options,
                                    opdump_session** session);

/**
 * Makes what the config's "opdump" object says count instead of the options, from the next
 * opdump_session_init on; what it does not say is as the options have it. Since 1.4 limits, order and
 * durability count for the sink too, whose objects are all closed then: OPDUMP_ERR_NOT_SUPPORTED when the
 * sink cannot do what is asked of it. A directory can do all but a history and a seal, a flash log the order,
 * a callback none; since 1.10 a history sink, a trigger sink and a sealed sink can do what their names say.
 */
opdump_status opdump_session_configure(opdump_session* session, const opdump_config* config);

/**
 * Boots: opdump_session_configure, opdump_session_init and opdump_session_set_config in one. Errors as theirs;
 * the session is not initialised then, captures nothing and can be booted again. Since 1.4.
 */
opdump_status opdump_session_boot(opdump_session* session, const opdump_config* config);

opdump_status opdump_session_init(opdump_session* session);

/**
 * Makes `config` count for models loaded from now on; the last one wins. One that asks for nothing is
 * accepted and changes nothing. OPDUMP_ERR_NOT_SUPPORTED when it wants what the session has no extras or
 * faults for, or a history or a seal that the session's sink was not configured for, with this key.
 */
opdump_status opdump_session_set_config(opdump_session* session, const opdump_config* config);

/**
 * Switches dumping off, moves everything captured to the sink and makes it durable. OPDUMP_ERR_STEP_OPEN and
 * OPDUMP_ERR_DRAINER_ATTACHED, also in a callback of the sink, change nothing. After any other error, such as that of
 * opdump_session_journal_failure, the session is off all the same.
 */
opdump_status opdump_session_finalize(opdump_session* session);

/**
 * The same in steps, for a watchdog: each call moves what opdump_session_drain moves and returns
 * OPDUMP_ERR_UNFINISHED until there is nothing left; the last one ends the journals and syncs the sink.
 * Between two calls only the sink may be used. Since 1.5.
 */
opdump_status opdump_session_finalize_some(opdump_session* session, size_t budget_bytes);

/**
 * Moves up to `budget_bytes` from each ring to the sink, and at most 255 bytes and the head of a record more;
 * returns the bytes moved, 0 when there was nothing, and in a callback of the sink, which must not drain.
 */
size_t opdump_session_drain(opdump_session* session, size_t budget_bytes);

/**
 * Returns when all that was captured so far is in the sink; OPDUMP_ERR_TIMEOUT when that takes longer,
 * OPDUMP_ERR_DRAINER_ATTACHED in a callback of the sink.
 */
opdump_status opdump_session_flush(opdump_session* session, uint32_t limit_ms);

/**
 * Between two calls of opdump_session_drain, in the context of those: syncs the sink, and first has the
 * journals tell up to which record all is told. `opdump verify` names that record after a loss of power.
 * OPDUMP_ERR_DRAINER_ATTACHED in a callback of the sink; else errors of the sink's sync. Since 1.10.
 */
opdump_status opdump_session_sync(opdump_session* session);

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

/** Operators that overflowed since the session was made, captured or not. */
uint32_t opdump_session_overflows(const opdump_session* session);

/** Times that a watched operator's output was found overwritten since the session was made. */
uint32_t opdump_session_overwrites(const opdump_session* session);

/** The first operator whose outputs were bad while its inputs were clean. */
typedef struct opdump_bad_op {
  uint64_t unix_us; /**< 0: there was none */
  uint64_t step;
  uint64_t status; /**< what overflowed, in CANN's bits; 0: nothing reported it, and a search found it */
  uint32_t model_id;
  uint32_t op; /**< its index in the model */
} opdump_bad_op;

/** While no recorder captures. Fills `bytes` bytes, as opdump_session_counts does. */
opdump_status opdump_session_first_bad_op(const opdump_session* session, opdump_bad_op* bad, size_t bytes);

/** Cause of the latest record that the sink lost; OPDUMP_OK if there was none. */
opdump_status opdump_session_last_sink_failure(const opdump_session* session);

/**
 * Since 1.3: why a journal lacks lines since opdump_session_init, so that its dump cannot prove its
 * completeness; OPDUMP_OK if none does.
 */
opdump_status opdump_session_journal_failure(const opdump_session* session);

/* == Where a dump comes from == */

/** Texts, of 150 bytes in all at most; NULL or "": not told. Since 1.8, as what follows. */
typedef struct opdump_provenance {
  size_t struct_bytes;
  const char* build_id; /**< of the program, such as opdump_note_build_id gives it */
  const char* config;   /**< a digest of the config, such as opdump_config_digest gives it */
  const char* model;    /**< the SHA-256 of the model's file, where it is the only one */
  const char* runtime;  /**< its name and version, as "onnxruntime 1.20.0" */
} opdump_provenance;

/** Bytes that opdump_session_tell_provenance takes; 0 by a library of OPDUMP_SMALL_CODE. */
size_t opdump_provenance_size(void);

/**
 * Tells the journal of the config in force what its dump comes from, and this library's version: after each
 * opdump_session_set_config or opdump_session_boot, and before anything is captured under it. `memory`, for each such
 * config its own, and the texts stay as they are until opdump_session_finalize; with OPDUMP_SMALL_CODE the line is
 * written at once, from the drain context, and neither has to stay. It does nothing where no config is in force.
 * OPDUMP_ERR_INVALID_ARGUMENT for a control character, or a comma elsewhere than in `runtime`; OPDUMP_ERR_TOO_LARGE
 * for longer texts; OPDUMP_ERR_NO_MEMORY; OPDUMP_ERR_NOT_SUPPORTED by a library without journals: nothing changes.
 */
opdump_status opdump_session_tell_provenance(opdump_session* session, const opdump_provenance* provenance,
                                             void* memory, size_t bytes);

/**
 * Puts the GNU build-id that is in `notes`, the bytes of an ELF section such as .note.gnu.build-id, into
 * `text`, in hexadecimal digits and a NUL. OPDUMP_ERR_NOT_FOUND, and an empty text, when there is none.
 */
opdump_status opdump_note_build_id(const void* notes, size_t bytes, char text[65]);

/** Puts the CRC-32 of a config's bytes, as it is read or as it was compiled, into `text`: 8 digits and a NUL. */
opdump_status opdump_config_digest(const void* config, size_t bytes, char text[9]);

/**
 * Since 1.9: tells the journals that the session's clock was set, all times in microseconds: it showed `shown_us`
 * when it was `unix_us` since 1970-01-01 UTC, and has gone on from there. `opdump` then moves the times of what was
 * captured before. Told again, the same step counts once. With OPDUMP_SMALL_CODE it is a call from the drain context.
 * OPDUMP_ERR_INVALID_ARGUMENT unless the clock was set forward; OPDUMP_ERR_NOT_SUPPORTED without a journal;
 * OPDUMP_ERR_NOT_INITIALISED, OPDUMP_ERR_DRAINER_ATTACHED from within draining, OPDUMP_ERR_TIMEOUT: nothing is told.
 * What the sink refuses, opdump_session_journal_failure tells.
 */
opdump_status opdump_session_tell_clock(opdump_session* session, uint64_t shown_us, uint64_t unix_us);

/* == Loaded models == */

typedef struct opdump_model opdump_model;

size_t opdump_model_size(const opdump_model_desc* desc);

/**
 * Resolves the config in force against a model. `desc` and its arrays are copied, the texts are referred to.
 * OPDUMP_ERR_NAME_TOO_LONG leaves the model loaded but uncaptured.
 */
opdump_status opdump_model_load(opdump_session* session, const opdump_model_desc* desc, void* memory,
                                size_t bytes, opdump_model** model);

/** OPDUMP_ERR_STEP_OPEN while a recorder runs a step of it: nothing changes. Else its memory is free. */
opdump_status opdump_model_unload(opdump_model* model);

/** Operators of the model that the config in force wants; 0 for NULL. */
uint32_t opdump_model_matched_ops(const opdump_model* model);

/** What became of one operator's records over a range of steps. Counts of 32 bits wrap. Since 1.2. */
typedef struct opdump_op_counts {
  uint64_t seen;            /**< steps that ran, each of which ran the operator once */
  uint64_t first_lost_step; /**< all losses lie in the steps from this one; only with losses */
  uint64_t last_lost_step;  /**< to this one */
  uint32_t wanted;
  uint32_t captured; /**< whole in a ring, or without a byte */
  uint32_t degraded; /**< reduced in a ring */
  uint32_t dropped;  /**< lost before any of it was in a ring */
  uint32_t aborted;  /**< lost later: what was there of it was taken back */
  uint32_t lost;     /**< both, by cause: */
  uint32_t invalid;  /**< as in opdump_counts, as the rest */
  uint32_t ring_full;
  uint32_t timed_out;
  uint32_t too_large;
  uint32_t device_failed;
  uint32_t sink_failed;
  uint32_t quota;
} opdump_op_counts;

/**
 * Bytes that counting a model's operators takes; 0 for one that is not loaded, and by a library of
 * OPDUMP_SMALL_CODE, where this and the calls that follow are OPDUMP_ERR_NOT_SUPPORTED.
 */
size_t opdump_model_count_size(const opdump_model* model);

/**
 * Counts what becomes of each operator of the model, from its next step on, in `memory`, which is free again when the
 * model is unloaded. A model that is still loaded when the session is finalized has the counts of its operators with
 * losses written to the dump's journal. Once per loading: OPDUMP_ERR_INVALID_ARGUMENT for the second time.
 * OPDUMP_ERR_MODEL_NOT_LOADED, or OPDUMP_ERR_STEP_OPEN while a recorder runs a step of it: nothing changes.
 */
opdump_status opdump_model_count_ops(opdump_model* model, void* memory, size_t bytes);

/**
 * What was counted of operator `op`, an index of the model. Exact between two steps, but for what the sink
 * lost: that once opdump_session_flush has said OPDUMP_OK. Fills `bytes` bytes, as opdump_session_counts
 * does. OPDUMP_ERR_MODEL_NOT_LOADED; OPDUMP_ERR_NO_SUCH_OP; OPDUMP_ERR_INVALID_ARGUMENT when the model's
 * operators are not counted.
 */
opdump_status opdump_model_op_counts(const opdump_model* model, uint32_t op, opdump_op_counts* counts,
                                     size_t bytes);

/**
 * Begins a new range of steps: all counts of the model's operators, and `seen`, begin at 0 again. After
 * opdump_session_flush, as what the sink loses later is counted in the new range.
 * OPDUMP_ERR_MODEL_NOT_LOADED, OPDUMP_ERR_STEP_OPEN while a recorder runs a step of it,
 * OPDUMP_ERR_INVALID_ARGUMENT when they are not counted: nothing changes.
 */
opdump_status opdump_model_restart_counts(opdump_model* model);

/* == Recorders == */

/** One context that captures. */
typedef struct opdump_recorder opdump_recorder;

/** What a recorder does when its ring has no room. Since 1.4. */
enum {
  OPDUMP_RECORDER_AS_SESSION = 0, /**< the session's `when_full` */
  OPDUMP_RECORDER_DROP = 1,       /**< lose the record at once, counted, whatever the session does */
  OPDUMP_RECORDER_BLOCK = 2,
  OPDUMP_RECORDER_DEGRADE = 3
};

typedef struct opdump_recorder_options {
  size_t struct_bytes;
  uint32_t ring_bytes;  /**< at least 1024 is a good start; larger tensors stream through it */
  uint32_t max_tensors; /**< inputs and outputs of one operator; 0: 16 */
  uint32_t known_heads; /**< operators whose names and shapes go through the ring only once; 0: none */
  uint32_t reserved;    /**< 0; keeps what follows out of what was padding before 1.4 */
  uint32_t when_full;   /**< since 1.4: OPDUMP_RECORDER_...; an interrupt's recorder is to drop */
} opdump_recorder_options;

size_t opdump_recorder_size(const opdump_recorder_options* options);

/**
 * OPDUMP_ERR_NO_FREE_RECORDER when the session serves no more; OPDUMP_ERR_INVALID_ARGUMENT for too small a
 * ring or an unknown `when_full`.
 */
opdump_status opdump_recorder_add(opdump_session* session, const opdump_recorder_options* options,
                                  void* memory, size_t bytes, opdump_recorder** recorder);

/**
 * OPDUMP_ERR_RECORDER_BUSY while a step is open, or when its ring was not drained in time: call again; it
 * keeps its memory and its place. Else its memory is free, and as long as that is left alone, calls with the
 * handle say OPDUMP_ERR_INVALID_ARGUMENT and do nothing.
 */
opdump_status opdump_recorder_remove(opdump_recorder* recorder);

/**
 * Starts the model's next execution; steps count from 0 since it was loaded. OPDUMP_ERR_INVALID_ARGUMENT, and
 * nothing changes, for a model of another session.
 */
opdump_status opdump_begin_step(opdump_recorder* recorder, opdump_model* model);

/** The same for a runtime that counts steps itself. */
opdump_status opdump_begin_step_at(opdump_recorder* recorder, opdump_model* model, uint64_t step);

/** 1: the open step captures operator `op`; 0 also when `op` is no index of the model or no step is open. */
int opdump_wants(const opdump_recorder* recorder, uint32_t op);

/**
 * Captures operator `op` of the open step, which has just run; the tensors' bytes are copied before it returns.
 * OPDUMP_OK also when the operator is not wanted. OPDUMP_ERR_STEP_NOT_OPEN and OPDUMP_ERR_NO_SUCH_OP change nothing;
 * OPDUMP_ERR_DEGRADED: statistics were kept; any other: the record is lost, counted, and leaves nothing in the dump.
 */
opdump_status opdump_capture(opdump_recorder* recorder, uint32_t op, const opdump_tensor* inputs,
                             uint32_t input_count, const opdump_tensor* outputs, uint32_t output_count);

/** What a runtime knows of an overflow. What it does not know is 0. */
typedef struct opdump_overflow {
  size_t struct_bytes;
  uint64_t status; /**< what overflowed, in CANN's bits; 0x20: floating-point computation */
  uint64_t start;  /**< of the core's program, as the next three in the words of CANN's report */
  uint64_t arguments;
  uint64_t core_id;
  uint64_t block_id;
} opdump_overflow;

/**
 * As opdump_capture, for an operator of which the runtime knows that it overflowed: nothing is searched.
 * Where the config asks for overflows, the operator is captured with this report; elsewhere as any other.
 */
opdump_status opdump_capture_overflow(opdump_recorder* recorder, uint32_t op, const opdump_tensor* inputs,
                                      uint32_t input_count, const opdump_tensor* outputs,
                                      uint32_t output_count, const opdump_overflow* overflow);

opdump_status opdump_end_step(opdump_recorder* recorder);

/** An operator that is running. Of arguments and workspaces only addresses and bytes are looked at. */
typedef struct opdump_running_op {
  size_t struct_bytes;
  uint32_t op; /**< an index of the model */
  uint32_t input_count;
  uint32_t output_count;
  uint32_t argument_count;
  uint32_t workspace_count;
  const opdump_tensor* inputs;
  const opdump_tensor* outputs;
  const opdump_tensor* arguments;  /**< what its kernel was started with */
  const opdump_tensor* workspaces; /**< memory that it works in */
} opdump_running_op;

/**
 * Says that an operator of the open step begins to run, so that it can be dumped when it fails. `*running`
 * and what it refers to must stay until the next call of this function or the step ends. After any error
 * none counts as running, not even the one before. OPDUMP_ERR_TOO_MANY_TENSORS when all four lists together are longer than the recorder's `max_tensors`;
 * OPDUMP_ERR_NOT_SUPPORTED by a library without the dumps that find a bug.
 */
opdump_status opdump_begin_op(opdump_recorder* recorder, const opdump_running_op* running);

/**
 * Captures the operator that began last, which the runtime found to have failed, if the config asks for that.
 * Memory that cannot be read becomes zeros. OPDUMP_ERR_STEP_NOT_OPEN, or OPDUMP_ERR_NO_SUCH_OP when none has
 * begun, change nothing.
 */
opdump_status opdump_capture_failure(opdump_recorder* recorder);

/**
 * For fault and watchdog handlers, which end the program afterwards: moves what the rings hold to the sink,
 * and the operator that was running on `failed` (NULL: none) as the config asks for. Does not wait or sync;
 * afterwards the session drains no more but in opdump_session_finalize, should the program go on. As safe in a
 * handler as the port's memory and sink are.
 */
opdump_status opdump_session_crash_flush(opdump_session* session, opdump_recorder* failed);

/** 1: operators run outside a model are captured. */
int opdump_wants_single_ops(const opdump_recorder* recorder);

/** Captures an operator that has just run outside any model; of `op` only name, type and ids are looked at.
 */
opdump_status opdump_capture_single_op(opdump_recorder* recorder, const opdump_op* op,
                                       const opdump_tensor* inputs, uint32_t input_count,
                                       const opdump_tensor* outputs, uint32_t output_count);

/*
 * Firmware compiles these sources of src/c_api, whatever the knobs (opdump/knobs.hpp) say; the linker leaves
 * out what is not called: callback_sink clock config extras faults fed_flash flash_log history_sink log model
 * op_counts provenance recorder sealed_sink session sink status (with OPDUMP_VERSION defined as a text). extras.cpp needs
 * src/kernels/statistics/kernels.cpp and src/format/relayout.cpp, faults.cpp src/kernels/non_finite.cpp,
 * config.cpp src/config/blob/plan.cpp unless they are compiled out or not called.
 */

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

/** Bytes that are enough for the config file `path` as it is now; 0 when it cannot be read. */
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
