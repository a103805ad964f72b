#include "opdump/opdump.h"
#ifndef OPDUMP_OPDUMP_MORE_H
#define OPDUMP_OPDUMP_MORE_H
/** What few programs in C call, on any machine. With the rules of opdump.h, which includes this. */
#ifdef __cplusplus
extern "C" {
#endif
/** The library's OPDUMP_API_MAJOR << 16 | OPDUMP_API_MINOR. */
uint32_t opdump_api_version(void);

/** The library's version, as "0.1.0". */
const char* opdump_version(void);

/* == Tensors, operators == */

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

/* == Sinks == */

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

#define OPDUMP_CALLBACK_SINK_BYTES(path_bytes) \
  (OPDUMP_BYTES_(224u, 136u, 136u, 72u, 72u) + OPDUMP_BYTES_(10u, 10u, 2u, 2u, 2u) * (path_bytes))

size_t opdump_flash_log_size(const opdump_flash* flash);

/**
 * The number of this boot, since opdump_flash_log_create. No other boot whose bytes the log holds has the same
 * number; it starts at 1 and grows from one boot that writes to the next, often by more than 1.
 * `opdump extract --boot` takes it.
 */
opdump_status opdump_flash_log_boot(opdump_sink* sink, uint32_t* boot);

/**
 * As opdump_flash_log_prepare, for a log with `erase_ahead`, which no other call erases. Where no block was ready a
 * record is refused and counted as lost; after this call the log goes on. Not after opdump_flash_log_emergency. Since
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
 * format/sealed.hpp says. platform/psa/psa_sealer.h has one over PSA Crypto.
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

/** Bytes that are enough for any config of `text_bytes` bytes, JSON or plan. Plans usually take far less. */
size_t opdump_config_size(size_t text_bytes);

/**
 * Sets `bytes` to what opdump_config_load_plan needs for `plan`, to within 32 bytes. Reads the plan, and
 * takes about 500 bytes of stack. Errors as opdump_config_load_plan, with `bytes` 0. Since 1.6.
 */
opdump_status opdump_plan_size(const void* plan, size_t plan_bytes, size_t* bytes);

/** 1: the config asks for something that this build does. */
int opdump_config_active(const opdump_config* config);

/** The ring size that the config's "opdump" object asks for; 0: none. */
uint32_t opdump_config_ring_bytes(const opdump_config* config);

/* == Sessions == */

size_t opdump_session_size(const opdump_session_options* options);

/** How much a dump's journal tells. With OPDUMP_SMALL_CODE RECORDS is GAPS. */
enum { OPDUMP_JOURNAL_RECORDS = 0, OPDUMP_JOURNAL_GAPS = 1, OPDUMP_JOURNAL_NONE = 2 };

/**
 * Statistics, protobuf and npy files, and tensors taken out of the device's formats, for sessions whose
 * configs may ask for them; code that others do not link.
 */
typedef struct opdump_extras opdump_extras;

/**
 * Finds operators that overflow and memory that is overwritten, for sessions whose configs may ask for that;
 * code that others do not link.
 */
typedef struct opdump_faults opdump_faults;

/** Says in a line each what becomes of configs and models. */
typedef struct opdump_log opdump_log;

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

size_t opdump_faults_size(const opdump_faults_options* options);

/** `options` is copied. OPDUMP_ERR_NOT_SUPPORTED by a library without the dumps that find a bug. */
opdump_status opdump_faults_create(void* at, size_t bytes, const opdump_faults_options* options,
                                   opdump_faults** faults);

/** Takes a line of `bytes` bytes, without its end and without a zero, which is good during the call. */
typedef void (*opdump_say)(void* context, const char* line, size_t bytes);

size_t opdump_log_size(void);

/**
 * For the boot message: how many operators of a model match, what that takes per step, and what of a config
 * this library does not do. `partition_bytes` is the room where the dump goes; 0: not known.
 */
opdump_status opdump_log_create(void* memory, size_t bytes, opdump_say say, void* context,
                                uint64_t partition_bytes, opdump_log** log);

/**
 * Makes what the config's "opdump" object says count instead of the options, from the next
 * opdump_session_init on; what it does not say is as the options have it. Since 1.4 limits, order and
 * durability count for the sink too, whose objects are all closed then: OPDUMP_ERR_NOT_SUPPORTED when the
 * sink cannot do what is asked of it. A directory can do all but a history and a seal, a flash log the order,
 * a callback none; since 1.10 a history sink, a trigger sink and a sealed sink can do what their names say.
 */
opdump_status opdump_session_configure(opdump_session* session, const opdump_config* config);

opdump_status opdump_session_init(opdump_session* session);

/**
 * Makes `config` count for models loaded from now on; the last one wins. One that asks for nothing is
 * accepted and changes nothing. OPDUMP_ERR_NOT_SUPPORTED when it wants what the session has no extras or
 * faults for, or a history or a seal that the session's sink was not configured for, with this key.
 */
opdump_status opdump_session_set_config(opdump_session* session, const opdump_config* config);

/**
 * The same in steps, for a watchdog: each call moves what opdump_session_drain moves and returns
 * OPDUMP_ERR_UNFINISHED until there is nothing left; the last one ends the journals and syncs the sink.
 * Between two calls only the sink may be used. Since 1.5.
 */
opdump_status opdump_session_finalize_some(opdump_session* session, size_t budget_bytes);

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

/* == Loaded models and recorders == */

size_t opdump_model_size(const opdump_model_desc* desc);

/** OPDUMP_ERR_STEP_OPEN while a recorder runs a step of it: nothing changes. Else its memory is free. */
opdump_status opdump_model_unload(opdump_model* model);

/** Operators of the model that the config in force wants; 0 for NULL. */
uint32_t opdump_model_matched_ops(const opdump_model* model);

size_t opdump_recorder_size(const opdump_recorder_options* options);

/** What a recorder does when its ring has no room. Since 1.4. */
enum {
  OPDUMP_RECORDER_AS_SESSION = 0, /**< the session's `when_full` */
  OPDUMP_RECORDER_DROP = 1,       /**< lose the record at once, counted, whatever the session does */
  OPDUMP_RECORDER_BLOCK = 2,
  OPDUMP_RECORDER_DEGRADE = 3
};

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

/**
 * OPDUMP_ERR_RECORDER_BUSY while a step is open, or when its ring was not drained in time: call again; it
 * keeps its memory and its place. Else its memory is free, and as long as that is left alone, calls with the
 * handle say OPDUMP_ERR_INVALID_ARGUMENT and do nothing.
 */
opdump_status opdump_recorder_remove(opdump_recorder* recorder);

/** As opdump_begin_step, for a runtime that counts steps itself. */
opdump_status opdump_begin_step_at(opdump_recorder* recorder, opdump_model* model, uint64_t step);

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
#ifdef __cplusplus
}
#endif
#endif
