#ifndef OPDUMP_ACL_H
#define OPDUMP_ACL_H
/**
 * The dump calls of CANN's ACL, for boards without CANN: a program written for CANN links against libopdump_acl
 * instead of libascendcl and libascend_dump. Names, types, values and the order of calls are CANN's. What CANN does
 * with a running model, opdump's recorders do: see opdump/acl.hpp for what the runtime calls.
 *
 * CANN's own headers may be included too, before or behind this one: where the compiler finds acl/acl_dump.h,
 * types and values come from there.
 *
 * Threads: every function may be called from any thread. Source: CANN's acl_rt.h, acl_dump.h, acl_base_rt.h.
 */
#include <stddef.h>
#include <stdint.h>

#ifdef __has_include
#if __has_include("acl/acl_dump.h")
#include "acl/acl_dump.h"
#endif
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* The macros that CANN's headers guard themselves with say which of them have been here. */
#if !defined(INC_EXTERNAL_ACL_ACL_BASE_RT_H_) && !defined(INC_EXTERNAL_ACL_ACL_BASE_H_)
typedef int aclError;

#ifndef ACL_SUCCESS
#define ACL_SUCCESS 0
#define ACL_ERROR_INVALID_PARAM 100000
#define ACL_ERROR_UNINITIALIZE 100001
#define ACL_ERROR_REPEAT_INITIALIZE 100002
#define ACL_ERROR_INVALID_FILE 100003
#define ACL_ERROR_PARSE_FILE 100006
#define ACL_ERROR_INVALID_DUMP_CONFIG 100009
#define ACL_ERROR_REPEAT_FINALIZE 100037
#define ACL_ERROR_DUMP_ALREADY_RUN 100044
#define ACL_ERROR_DUMP_NOT_RUN 100045
#define ACL_ERROR_BAD_ALLOC 200000
#define ACL_ERROR_API_NOT_SUPPORT 200001
#define ACL_ERROR_INTERNAL_ERROR 500000
#define ACL_ERROR_FAILURE 500001
#endif
#endif

#ifndef INC_EXTERNAL_ACL_DUMP_H_
#define ACL_DUMP_MAX_FILE_PATH_LENGTH 4096

/* CANN's chunk ends in an array that C++ does not have, but for its compilers, which say so when they are pedantic. */
#ifdef __clang__
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wc99-extensions"
#endif
#ifdef __GNUC__
#define OPDUMP_ACL_EXTENSION __extension__
#else
#define OPDUMP_ACL_EXTENSION
#endif

/** A piece of a file. The pieces of one file come in order; those of several files may alternate. */
typedef struct acldumpChunk {
  char fileName[ACL_DUMP_MAX_FILE_PATH_LENGTH];
  uint32_t bufLen;      /**< bytes in dataBuf */
  uint32_t isLastChunk; /**< 1: the file is whole; 0: more follows */
  int64_t offset;       /**< -1: append */
  int32_t flag;         /**< 0; OPDUMP_ACL_ABORTED: what came of the file is void, and nothing follows */
  OPDUMP_ACL_EXTENSION uint8_t dataBuf[];
} acldumpChunk;

#undef OPDUMP_ACL_EXTENSION
#ifdef __clang__
#pragma clang diagnostic pop
#endif

typedef enum acldumpType {
  AIC_ERR_BRIEF_DUMP = 1,
  AIC_ERR_NORM_DUMP = 2,
  AIC_ERR_DETAIL_DUMP = 3,
  DATA_DUMP = 4,
  OVERFLOW_DUMP = 5
} acldumpType;
#endif

/** opdump's own: CANN has no word for a file that is given up. */
#define OPDUMP_ACL_ABORTED (-1)

/**
 * Takes note of the config file `configPath`, and starts dumping when its "dump" object asks for it. NULL or "" is no
 * config. 100002 when initialised already; 100000 after aclFinalize, with another file content than the first time;
 * 100003, 100006, 100009 or 200000 for a config that is refused, and nothing is initialised.
 */
aclError aclInit(const char* configPath);

/** Ends what aclInit and aclmdlInitDump began. 100037 for the second call in a row, 500000 when the dump failed. */
aclError aclFinalize(void);

/** Makes ready for aclmdlSetDump. 100001 before aclInit, 100002 for the second time. */
aclError aclmdlInitDump(void);

/**
 * Makes a config file count for models loaded from now on; the last one wins, and an empty file sets nothing. 100001
 * before aclInit, 100045 before aclmdlInitDump, 100000 for NULL, else as aclInit.
 */
aclError aclmdlSetDump(const char* dumpCfgPath);

/** Writes out everything and switches dumping off. 100001, 100045 as above; 500000 when it failed: call it again. */
aclError aclmdlFinalizeDump(void);

/**
 * From now on files go to `messageCallback`, piece by piece, and not to the disk. Its second argument is the size of
 * chunk and data together; anything but 0 as its answer loses the file. It is called by the drain thread and must not
 * call this library. A journal's lines come one by one, and its last chunk, without data, when dumping ends. 500001 for
 * NULL or a flag other than 0. A second callback is ignored, with 0.
 */
aclError acldumpRegCallback(int32_t (*messageCallback)(const acldumpChunk*, int32_t), int32_t flag);

/**
 * Files that begin from now on go to the disk again. The callback may be called until those it has are whole: journals
 * are when dumping ends.
 */
void acldumpUnregCallback(void);

/**
 * The directory for a kind of dump, made if it is missing, with '/' at the end: for exceptions
 * "<path>/extra-info/data-dump/", for data and overflow the active dump's with its time stamp. NULL when there is none.
 * The text stays until the same thread's next call of this function.
 */
const char* acldumpGetPath(acldumpType dumpType);

#ifdef __cplusplus
}
#endif
#endif
