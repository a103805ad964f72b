#ifndef OPDUMP_ACL_SESSION_H
#define OPDUMP_ACL_SESSION_H
/**
 * What the runtime of a program in C calls behind the calls of opdump/acl.h: opdump/acl.hpp for C. Structs
 * and handles are those of opdump/opdump.h, with its rules.
 */
#include "opdump/acl.h"
#include "opdump/opdump_more.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * The session behind the ACL calls, one per process, which stays. Add recorders to it, load models, ask for
 * counts; leave its options, configs, drainer and end to the ACL calls.
 */
opdump_session* opdump_acl_session(void);

/** Whose rules the ACL calls follow where they differ. */
enum {
  OPDUMP_ACL_SERVER = 0,
  OPDUMP_ACL_NANO = 1 /**< see Product in opdump/acl.hpp */
};

/** Call it before aclInit; without a call it is OPDUMP_ACL_SERVER. OPDUMP_ERR_INVALID_ARGUMENT for another
 * number. */
opdump_status opdump_acl_use_product(uint32_t product);

typedef struct opdump_acl_memory {
  size_t struct_bytes;
  const opdump_memory* memory; /**< copied; NULL: plain memory */
  void* context;               /**< handed to `overflowed` */

  /** As in opdump_faults_options; may be NULL. */
  opdump_status (*overflowed)(void* context, uint32_t stream_id, int* over);
  uint32_t device_id; /**< the device that dumps are of */
} opdump_acl_memory;

/**
 * Where tensors lie from now on; without a call they lie in plain memory, of device 0. Copied.
 * OPDUMP_ERR_ALREADY_INITIALISED while something dumps, OPDUMP_ERR_INVALID_ARGUMENT as for a session: nothing
 * changes.
 */
opdump_status opdump_acl_use_memory(const opdump_acl_memory* memory);

/** Lets `say` hear from now on what becomes of configs and models. NULL: nobody hears, as at first. */
void opdump_acl_log_to(opdump_say say, void* context);

/**
 * Why the last refused ACL call failed: fills `text` with its first bytes, `bytes` at most, a zero among them
 * at the end, and returns the size of the whole, without the zero. `text` may be NULL where `bytes` is 0.
 */
size_t opdump_acl_last_error(char* text, size_t bytes);

#ifdef __cplusplus
}
#endif
#endif
