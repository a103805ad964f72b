#ifndef OPDUMP_ACL_CHUNKS_H
#define OPDUMP_ACL_CHUNKS_H
/**
 * For programs that run beside CANN: the function that a program hands to CANN's acldumpRegCallback, so that
 * CANN's own operator dump goes through opdump, with its filters, limits and journal. It is in libopdump. Link
 * that beside libascendcl and libascend_dump, and not libopdump_acl, which stands in the place of those two.
 *
 *     opdump_chunks_start("acl.json");
 *     acldumpRegCallback(opdump_take_chunk, 0);
 *     ... run the model ...
 *     acldumpUnregCallback();
 *     opdump_chunks_stop();
 *
 * There is one such dump per process. A C++ program may make any number of ascend::ChunkDump
 * (platform/ascend/chunk_dump.hpp) or ascend::ChunkConsumer. Needs no header of CANN's; those may be included
 * too, in any order.
 */
#include "opdump/opdump_more.h"

#ifdef __cplusplus
extern "C" {
#endif

struct acldumpChunk; /* CANN's, of acl/acl_dump.h; opdump/acl.h has it too */

/**
 * Reads the config file and begins to take chunks into files below its `dump_path`. After an error, which
 * opdump_chunks_error gives in words, nothing is taken: OPDUMP_ERR_CONFIG_REFUSED,
 * OPDUMP_ERR_ALREADY_INITIALISED until opdump_chunks_stop, OPDUMP_ERR_NO_MEMORY, OPDUMP_ERR_NOT_SUPPORTED for
 * another layout than CANN's or for "history_steps".
 */
opdump_status opdump_chunks_start(const char* config_path);

/**
 * CANN's callback. `bytes` is the size of chunk and data together. Returns 0, also when the file is lost, which
 * counts and journal tell; -1 outside of opdump_chunks_start and opdump_chunks_stop, or if
 * opdump_chunks_tell_cann asks for it. All that CANN does with an answer that is not 0 is to write a line to
 * its log. Any number of threads. Waits no longer than "when_full" in the config allows.
 */
int32_t opdump_take_chunk(const struct acldumpChunk* chunk, int32_t bytes);

/** From now on opdump_take_chunk answers -1 for each chunk that is lost (not 0), or 0 (0), as at first. */
void opdump_chunks_tell_cann(int lost);

/** What came so far. All counts wrap at 32 bits. */
typedef struct opdump_chunk_counts {
  uint32_t chunks;
  uint32_t wanted;   /**< files that the config wants */
  uint32_t written;  /**< of those, whole in the tree */
  uint32_t lost;     /**< of those */
  uint32_t unwanted; /**< files that the config does not want */
  uint32_t late;     /**< chunks that came after the last one of their file */
  uint32_t repeated; /**< chunks whose bytes had come already; they do no harm */
  uint32_t
      torn; /**< chunks that are not as long as they say, or whose file is not as long as its head says */
  uint32_t out_of_order; /**< chunks that do not follow what came before */
} opdump_chunk_counts;

/** Fills `bytes` bytes, as opdump_session_counts. */
opdump_status opdump_chunks_counts(opdump_chunk_counts* counts, size_t bytes);

/**
 * Ends the dump, after acldumpUnregCallback: what never got its last chunk is given up and named in the
 * journal, and everything is made durable. OPDUMP_OK when each wanted file is as CANN would have written it;
 * otherwise opdump_chunks_error gives the reason.
 */
opdump_status opdump_chunks_stop(void);

/**
 * Why the last of these calls failed: fills `text` with its first bytes, `bytes` at most, a zero among them at
 * the end, and returns the size of the whole, without the zero. `text` may be NULL where `bytes` is 0.
 */
size_t opdump_chunks_error(char* text, size_t bytes);

#ifdef __cplusplus
}
#endif
#endif
