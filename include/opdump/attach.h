#ifndef OPDUMP_ATTACH_H
#define OPDUMP_ATTACH_H
/**
 * opdump for a program that has a runtime: an object that owns everything else a dump needs. C99 and C++;
 * attach.hpp is the same for C++17. For machines with an operating system. Since 1.7.
 *
 *     before the model   opdump_attach_create, opdump_attach_start
 *     at its load        opdump_attach_model_create; opdump_attach_add_op for each operator, unless they
 *                        become known only as they run
 *     each step          opdump_attach_begin_step; after each operator, if opdump_attach_wants it,
 *                        opdump_attach_capture; opdump_attach_end_step
 *     at the end         opdump_attach_model_destroy, opdump_attach_destroy
 *
 * Order. The dump may start before the models are made or after that, between two steps. What is started
 * later counts for the steps that follow.
 *
 * Errors. No call stops inference. A call that cannot do what it should says why in its status, counts that,
 * and tells the log when a reason comes up for the first time. NULL for a handle does nothing.
 *
 * Texts are copied, and so is everything else that a call is given, before it returns.
 *
 * Threads. opdump_attach_wants, opdump_attach_see_op and opdump_attach_capture may be called by any thread
 * while a step is open; each operator of a step by one thread at a time. Everything else may be called by any
 * thread too, one call at a time for one model. A handle is destroyed when no thread uses it any more.
 *
 * ABI. As opdump.h says: within one OPDUMP_API_MAJOR structs that begin with `struct_bytes` may grow. All
 * tensors of one list have the size that its first one has.
 */
#include <opdump/opdump_more.h>

#ifdef __cplusplus
extern "C" {
#endif

/** A dump: its config, its files, and the models and threads that write to it. */
typedef struct opdump_attach opdump_attach;

/** One model of a dump. */
typedef struct opdump_attach_model opdump_attach_model;

/** No operator. */
#define OPDUMP_NO_OP 0xffffffffu

typedef struct opdump_attach_options {
  size_t struct_bytes;
  /** Gets the log, line by line, without ends of lines, also on threads that capture; must not call back.
      NULL: stderr gets it. */
  void (*say)(void* context, const char* line, size_t bytes);
  void* context;
  uint32_t device_id;
  /** How many capture with a ring of their own; others share one. 0: as many as there can be. */
  uint32_t max_threads;
} opdump_attach_options;

/** `options` may be NULL. Nothing is on before opdump_attach_start. */
opdump_status opdump_attach_create(const opdump_attach_options* options, opdump_attach** dump);

/**
 * Switches the dump on as the config file `config` says, of any dialect; NULL: the file that the environment variable
 * OPDUMP_CONFIG names, or else MINDSPORE_DUMP_CONFIG. When these are not set either, and when the config asks for
 * nothing on this device, the status is OPDUMP_OK and the dump stays off. OPDUMP_ERR_CONFIG_REFUSED, with the reason
 * in the log. OPDUMP_ERR_STEP_OPEN in a step; OPDUMP_ERR_ALREADY_INITIALISED when it has started.
 */
opdump_status opdump_attach_start(opdump_attach* dump, const char* config);

/**
 * From the next opdump_attach_start on, the journal tells what the dump comes from. Of what `provenance` does not
 * tell, the build-id is the program's and the digest that of the config's file. Without this call journals stay as
 * they were, and cards tell the program's build-id and the runtime. Copies the texts. OPDUMP_ERR_ALREADY_INITIALISED
 * when it has started; other errors as opdump_session_tell_provenance. The log tells them.
 */
opdump_status opdump_attach_set_provenance(opdump_attach* dump, const opdump_provenance* provenance);

/** 1: a config is in force that dumps something on this device. */
int opdump_attach_is_on(const opdump_attach* dump);

/**
 * Writes out what is left, tells the log what was asked for and never ran, and switches the dump off; it may
 * start again. An open step captures nothing from then on. OPDUMP_OK when nothing was lost;
 * opdump_attach_error gives the reason otherwise.
 */
opdump_status opdump_attach_stop(opdump_attach* dump);

/** Stops the dump if that has not been done; models are destroyed before. */
void opdump_attach_destroy(opdump_attach* dump);

/** Why the last start or stop failed; empty when neither did. Valid until the next of them. Never NULL. */
const char* opdump_attach_error(const opdump_attach* dump);

typedef struct opdump_attach_counts {
  uint64_t failed_calls;   /**< that could not do what they should */
  uint32_t first_failure;  /**< the status of the first of them; OPDUMP_OK: there is none */
  uint32_t threads;        /**< that have captured and not ended */
  uint32_t shared_threads; /**< that have ever shared a ring, as there were too many */
  uint32_t repeated_names; /**< operators with a number behind their name */
} opdump_attach_counts;

/** Fills `bytes` bytes, at most sizeof(opdump_attach_counts) as the library knows it, and the rest with
 * zeros. */
opdump_status opdump_attach_get_counts(const opdump_attach* dump, opdump_attach_counts* counts, size_t bytes);

/** The same for the records of the dump, since it started first. */
opdump_status opdump_attach_get_records(const opdump_attach* dump, opdump_counts* counts, size_t bytes);

/**
 * Writes a RUN.json of all models there are now, for `opdump check --model` and `opdump verify --model`: of a
 * dynamic model the operators that have run while the dump was on. Errors of the file;
 * OPDUMP_ERR_INVALID_ARGUMENT for a name that is not UTF-8.
 */
opdump_status opdump_attach_describe(opdump_attach* dump, const char* path);

/**
 * Since 1.10: fires the triggers that the config has under `"call": name`, as of the step that has begun
 * last; the history is written with the next record. OPDUMP_ERR_INVALID_ARGUMENT when the config has none of
 * that name, or no dump is on. From any thread.
 */
opdump_status opdump_attach_fire(opdump_attach* dump, const char* name);

/** Tells the log a line of the adapter's. Nothing while no dump has ever started. */
void opdump_attach_say(opdump_attach* dump, const char* line);

/* == Models == */

typedef struct opdump_attach_model_options {
  size_t struct_bytes;
  const char* name;       /**< a config's `model_name` is compared with it first */
  const char* graph_name; /**< compared second; NULL: none */
  uint32_t id;
  uint32_t dynamic; /**< 1: its operators become known only as they run, by opdump_attach_see_op */
  uint32_t max_ops; /**< of a dynamic model; 0: 16384 */
  uint32_t reserved;
} opdump_attach_model_options;

/** OPDUMP_ERR_INVALID_ARGUMENT without a name. */
opdump_status opdump_attach_model_create(opdump_attach* dump, const opdump_attach_model_options* options,
                                         opdump_attach_model** model);

/** Ends an open step first. */
void opdump_attach_model_destroy(opdump_attach_model* model);

enum {
  OPDUMP_TAP_BREAKS_FUSION = 1, /**< to capture it, the runtime has to run it apart from its neighbours */
  OPDUMP_TAP_COPIES = 2         /**< to capture it, the runtime copies its tensors */
};

/** An operator of a model. Ids that the runtime has not are OPDUMP_NO_ID. */
typedef struct opdump_attach_op {
  size_t struct_bytes;
  opdump_op op;
  uint32_t flags; /**< of those above; kept for opdump_attach_describe */
  uint32_t reserved;
} opdump_attach_op;

/**
 * Adds the next operator, in execution order, and sets `*index` (NULL: not wanted) to its position. When the
 * model has an operator of that name already, this one is NAME#2, #3 and so on, the log says so, and NAME in
 * a config stands for all of them. OPDUMP_ERR_MODEL_ALREADY_LOADED once a dump that is on has begun a step of
 * the model or was asked for its wanted operators, and for a dynamic model.
 */
opdump_status opdump_attach_add_op(opdump_attach_model* model, const opdump_attach_op* op, uint32_t* index);

/**
 * Adds to the flags of operator `op` what became known after it was added: of one that is tapped, say.
 * OPDUMP_ERR_NO_SUCH_OP; OPDUMP_ERR_STEP_OPEN in a step of the model.
 */
opdump_status opdump_attach_flag_op(opdump_attach_model* model, uint32_t op, uint32_t flags);

/** The position of the operator of that name, with its #2 if it has one; OPDUMP_NO_OP: there is none. */
uint32_t opdump_attach_find_op(const opdump_attach_model* model, const char* name);

/**
 * How many operators some step captures: 0 while the dump is off. Their positions go to `ops`, in order, as
 * far as `room` reaches. No operator can be added afterwards, unless the dump is off. Of a dynamic model,
 * those that have run.
 */
uint32_t opdump_attach_wanted_ops(opdump_attach_model* model, uint32_t* ops, uint32_t room);

enum { OPDUMP_WANTS_INPUTS = 1, OPDUMP_WANTS_OUTPUTS = 2 };

/** What some step captures of operator `op`: a sum of those above; 0: nothing. Otherwise like
 * opdump_attach_wanted_ops. */
uint32_t opdump_attach_wanted_parts(opdump_attach_model* model, uint32_t op);
/* == What a model is: its card == */

/*
 * Beside the journal of a dump each model of which it asks for something gets a card,
 * `opdump.{device}.{model}.model.json`: one JSON object, as `opdump describe` writes it, with what was told
 * of the model. It is written before the model's first step; that of a dynamic model, and of a dump that only
 * waits for a failure, when model or dump end. A second card of that name that says something else gets a
 * number, `opdump.{device}.{model}.2.model.json`. A card that cannot be written is told and counted as a call
 * that failed, and changes nothing else.
 */

enum {
  OPDUMP_QUANT_NONE = 0,
  OPDUMP_QUANT_AFFINE = 1, /**< scale * (stored - zero point) */
  OPDUMP_QUANT_POW2 = 2,   /**< stored * 2^exponent */
  OPDUMP_QUANT_BLOCK = 3,  /**< blocks of bytes that hold their own scales, as ggml's Q4_K */
  OPDUMP_QUANT_LUT = 4     /**< entry `stored - first` of a table */
};

/** How the numbers of a tensor stand for real ones, as long as the model lives. What the scheme has not is 0.
 */
typedef struct opdump_quant_params {
  size_t struct_bytes;
  uint32_t scheme;
  int32_t axis;               /**< -1: one scale, exponent or table for all; else as many as this dim has */
  const float* scales;        /**< affine: `count` */
  const int64_t* zero_points; /**< affine: `count`; NULL: all 0 */
  const int32_t* exponents;   /**< pow2: `count`, from -149 to 127 */
  const float* table;         /**< lut: `count` entries, of one table after the other */
  const char* block_type;     /**< block: its name, in ggml's words */
  int64_t first;              /**< lut: what is stored for a table's first entry */
  uint32_t count;
  uint32_t block_elements; /**< block: numbers that a block stands for */
  uint32_t block_bytes;    /**< block: bytes of a block */
  uint32_t reserved;
} opdump_quant_params;

/** The rank is not known. */
#define OPDUMP_UNKNOWN_RANK 0xffffffffu

/** What is known of a tensor before it is computed. */
typedef struct opdump_attach_tensor_info {
  size_t struct_bytes;
  const char* name;                 /**< tensors of one name are one tensor of the model; NULL: it has none */
  const int64_t* dims;              /**< outermost first; -1: known only when the model runs */
  const opdump_quant_params* quant; /**< NULL: it is not quantised */
  uint32_t rank;                    /**< at most 32, or OPDUMP_UNKNOWN_RANK */
  int32_t dtype;                    /**< OPDUMP_UNDEFINED: not known */
  uint32_t constant;                /**< 1: the model holds its elements */
  uint32_t reserved;
} opdump_attach_tensor_info;

/** What is known of an operator besides what it was added with. */
typedef struct opdump_attach_op_info {
  size_t struct_bytes;
  const opdump_attach_tensor_info* inputs;
  const opdump_attach_tensor_info* outputs;
  const opdump_attribute* attributes; /**< as of an operator that no opdump_attach_add_op has added */
  uint32_t input_count;
  uint32_t output_count;
  uint32_t attribute_count;
  uint32_t flags; /**< of those for opdump_attach_op */
} opdump_attach_op_info;

/**
 * Tells the model's card of an operator, in the place of what was told of it before. What is known of a tensor is
 * kept when it is named again. OPDUMP_ERR_NO_SUCH_OP; OPDUMP_ERR_INVALID_ARGUMENT and others for what cannot be, and
 * nothing is told then; OPDUMP_ERR_MODEL_ALREADY_LOADED when the card was written and the dump is still on.
 */
opdump_status opdump_attach_describe_op(opdump_attach_model* model, uint32_t op,
                                        const opdump_attach_op_info* info);

/** What is known of a model as a whole. */
typedef struct opdump_attach_model_info {
  size_t struct_bytes;
  const char* runtime; /**< that has loaded it, and its version, as "onnxruntime 1.20.0"; NULL: not told */
  const char* sha256;  /**< of its file, 64 hexadecimal digits; NULL: not told */
} opdump_attach_model_info;

/** Tells the model's card of the model. Errors as opdump_attach_describe_op. */
opdump_status opdump_attach_describe_model(opdump_attach_model* model, const opdump_attach_model_info* info);

/** Puts the SHA-256 digest of `bytes` bytes into `text`, as 64 hexadecimal digits and a NUL. */
opdump_status opdump_sha256(const void* data, size_t bytes, char text[65]);

/* == Steps == */

/** For opdump_attach_begin_step: the step behind the last one, from 0 on. */
#define OPDUMP_NEXT_STEP UINT64_MAX

/**
 * Begins a step. OPDUMP_ERR_STEP_OPEN when the model has one open: another thread's, say, as a model runs one
 * step at a time. Then nothing of this one is captured, and the other goes on.
 */
opdump_status opdump_attach_begin_step(opdump_attach_model* model, uint64_t step);

/** When all operators of the step have run. OPDUMP_ERR_STEP_NOT_OPEN. */
opdump_status opdump_attach_end_step(opdump_attach_model* model);

/** What opdump_attach_wants looks at. */
typedef struct opdump_attach_gate {
  const unsigned char*
      bits; /**< a byte per operator, not 0 if the open step captures it; NULL: it captures none */
  uint32_t op_count;
} opdump_attach_gate;

/** The model's, which stays where it is. Never NULL: without a model it is one that wants nothing. */
const opdump_attach_gate* opdump_attach_gate_of(const opdump_attach_model* model);

/** 1: the open step captures operator `op`. A load and a branch while nothing is captured. */
int opdump_attach_wants(const opdump_attach_model* model, uint32_t op);

/**
 * Of a dynamic model: an operator has just run. Its position, if the open step captures it, else
 * OPDUMP_NO_OP. Operators are told apart by name, by type, and by how often both came up in the step so far;
 * the second of a name gets NAME#2 as in opdump_attach_add_op. One that is new goes to the model's end. While
 * the dump is off nothing is kept. Beyond `max_ops` operators are not captured, as log and journal say.
 */
uint32_t opdump_attach_see_op(opdump_attach_model* model, const char* name, const char* type);

/** A tensor as it lies in the runtime. */
typedef struct opdump_attach_tensor {
  size_t struct_bytes;
  const void* data; /**< its first element, or the device's address of it */
  uint64_t bytes;   /**< that may be read from `data` on; 0: as many as shape, dtype and strides tell */
  int32_t dtype;
  int32_t format;
  uint32_t rank;          /**< at most 32 */
  uint32_t original_rank; /**< 0: the same in the framework */
  const int64_t* dims;    /**< outermost first */
  /**
   * From one element to the next, in bytes, for each dim; NULL: the elements lie one behind the other. A
   * tensor with gaps is captured as a dense one, row by row. OPDUMP_ERR_NOT_SUPPORTED for elements that do
   * not end at a byte, and OPDUMP_ERR_INVALID_TENSOR for strides that leave `bytes`, where those are given.
   */
  const int64_t* strides;
  /**
   * Copies `bytes` bytes that lie `offset` behind `data`: the runtime's own call for tensors that the CPU
   * cannot read. Called by the thread that captures, before that call returns, for pieces that fit the ring.
   * Anything but OPDUMP_OK loses the record. NULL: the CPU reads at `data`.
   */
  opdump_status (*read)(void* context, void* to, uint64_t offset, size_t bytes);
  void* context;
  const int64_t* original_dims; /**< in the framework, where they differ */
  const char* name;             /**< of an output in the framework; NULL: its operator's */
} opdump_attach_tensor;

/**
 * Captures an operator that has just run: copies what the config asks for of these tensors. OPDUMP_OK also
 * when the operator is not wanted. A thread gets a ring of its own with its first call. After any other error
 * than OPDUMP_ERR_STEP_NOT_OPEN or OPDUMP_ERR_NO_SUCH_OP the record is lost, and counted in the dump.
 */
opdump_status opdump_attach_capture(opdump_attach_model* model, uint32_t op,
                                    const opdump_attach_tensor* inputs, uint32_t input_count,
                                    const opdump_attach_tensor* outputs, uint32_t output_count);

/**
 * Since 1.10: operator `op` of the open step has failed; OPDUMP_NO_OP: some operator that is not known. Fires
 * the triggers of a config that wait for a "failure" of it, or of any operator, and dumps it where the config
 * asks for that; the tensors are as for opdump_attach_capture, or none where they cannot be read any more.
 * Without this call such triggers never fire. From the thread that ran the operator. OPDUMP_OK also when
 * nothing waits for a failure; OPDUMP_ERR_STEP_NOT_OPEN, OPDUMP_ERR_NO_SUCH_OP; errors of the tensors,
 * without which the failure counts all the same.
 */
opdump_status opdump_attach_fail(opdump_attach_model* model, uint32_t op, const opdump_attach_tensor* inputs,
                                 uint32_t input_count, const opdump_attach_tensor* outputs,
                                 uint32_t output_count);

/* == What every runtime's glue needs == */

/**
 * The dtype of that name, in the words of NumPy ("float32", "<f4", "f4"), ONNX, PyTorch, ggml ("F32", "BF16",
 * "I8") or CANN ("DT_FLOAT"); OPDUMP_UNDEFINED for another. Letters may be of either case.
 */
int32_t opdump_dtype_named(const char* name);

/** By the number of ONNX's TensorProto.DataType; OPDUMP_UNDEFINED: there is none. */
int32_t opdump_dtype_of_onnx(int32_t number);

/** By NumPy's kind ('f', 'i', 'u', 'b', 'c') and the bits of an element; OPDUMP_UNDEFINED: there is none. */
int32_t opdump_dtype_of_kind(char kind, uint32_t bits);

/** Bits of an element; 0 where elements have no fixed size or the dtype is none. */
uint32_t opdump_dtype_bits(int32_t dtype);

/** The memory layout of that name, as "NCHW"; OPDUMP_FORMAT_ND for another. */
int32_t opdump_format_named(const char* name);

/**
 * Sets `strides` to those of a dense tensor, in bytes. OPDUMP_ERR_NOT_SUPPORTED for elements that do not end
 * at a byte, OPDUMP_ERR_UNCOUNTABLE_SHAPE for negative dims and for sizes beyond 63 bits.
 */
opdump_status opdump_dense_strides(int32_t dtype, uint32_t rank, const int64_t* dims, int64_t* strides);

/** A node of an ONNX model. */
typedef struct opdump_onnx_node {
  size_t struct_bytes;
  const char* name; /**< that of its first output, where it has none of its own */
  const char* type;
  const char* domain;
  const char* const* inputs; /**< names of tensors; an empty one: this input is left out */
  const char* const* outputs;
  const unsigned char* constants; /**< for each input, 1: the graph holds it as a constant */
  uint32_t input_count;
  uint32_t output_count;
  uint32_t has_bodies; /**< 1: it is an If, Loop or Scan, whose own nodes are not shown */
  uint32_t reserved;
} opdump_onnx_node;

/**
 * Shows the nodes of the main graph of an ONNX model, in its order, which is one that they can run in; what
 * is shown is valid until `show` returns. OPDUMP_ERR_MALFORMED, before anything is shown, for bytes that are
 * no ONNX model. Source: ONNX's onnx.proto.
 */
opdump_status opdump_onnx_nodes(const void* model, uint64_t bytes,
                                void (*show)(void* context, const opdump_onnx_node* node), void* context);

/** The same for a file, which is read into memory for that long. Errors of the file. */
opdump_status opdump_onnx_nodes_of_file(const char* path,
                                        void (*show)(void* context, const opdump_onnx_node* node),
                                        void* context);

#ifdef __cplusplus
}
#endif
#endif
