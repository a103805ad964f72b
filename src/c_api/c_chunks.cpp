#include <atomic>
#include <mutex>

#include "opdump/acl_chunks.h"
#include "platform/ascend/chunk_dump.hpp"
#include "src/c_api/c_text.hpp"
#include "src/c_api/handles.hpp"

using namespace opdump;

namespace opdump::c_api {
inline namespace OPDUMP_NAMESPACE {
OPDUMP_LAYOUT(opdump_chunk_counts, 36, 36, OPDUMP_FIELD(chunks, 0, 0), OPDUMP_FIELD(wanted, 4, 4),
              OPDUMP_FIELD(written, 8, 8), OPDUMP_FIELD(lost, 12, 12), OPDUMP_FIELD(unwanted, 16, 16),
              OPDUMP_FIELD(late, 20, 20), OPDUMP_FIELD(repeated, 24, 24), OPDUMP_FIELD(torn, 28, 28),
              OPDUMP_FIELD(out_of_order, 32, 32));
}
}  // namespace opdump::c_api

namespace {

/// The one dump of the process.
struct ProcessChunks {
  /// Never destroyed, as CANN's threads may still call.
  static ProcessChunks& instance() {
    static ProcessChunks& chunks = *new ProcessChunks;
    return chunks;
  }

  std::mutex control;  ///< over all but `take`
  ascend::ChunkDump dump;
  std::atomic<bool> started{false};
  std::atomic<bool> tells_cann{false};
};

}  // namespace

extern "C" {

opdump_status opdump_chunks_start(const char* config_path) {
  if (config_path == nullptr) return OPDUMP_ERR_INVALID_ARGUMENT;
  ProcessChunks& chunks = ProcessChunks::instance();
  const std::lock_guard lock(chunks.control);
  const Status status = chunks.dump.start(config_path);
  // release: a thread that sees it sees the dump begun; pairs with the acquire in `opdump_take_chunk`.
  if (status == Status::ok) chunks.started.store(true, std::memory_order_release);
  return c_api::to_c(status);
}

std::int32_t opdump_take_chunk(const struct acldumpChunk* chunk, std::int32_t bytes) {
  ProcessChunks& chunks = ProcessChunks::instance();
  if (chunk == nullptr || !chunks.started.load(std::memory_order_acquire)) return -1;
  const Status status = chunks.dump.take(*chunk, bytes);
  if (status == Status::not_initialised) return -1;
  return status != Status::ok && chunks.tells_cann.load(std::memory_order_relaxed) ? -1 : 0;
}

void opdump_chunks_tell_cann(int lost) {
  ProcessChunks::instance().tells_cann.store(lost != 0, std::memory_order_relaxed);
}

opdump_status opdump_chunks_counts(opdump_chunk_counts* counts, std::size_t bytes) {
  if (counts == nullptr) return OPDUMP_ERR_INVALID_ARGUMENT;
  ProcessChunks& chunks = ProcessChunks::instance();
  const std::lock_guard lock(chunks.control);
  const ascend::ChunkCounts now = chunks.dump.counts();
  const opdump_chunk_counts all = {.chunks = now.chunks,
                                   .wanted = now.files.wanted,
                                   .written = now.files.written,
                                   .lost = now.files.lost(),
                                   .unwanted = now.unwanted,
                                   .late = now.late,
                                   .repeated = now.repeated,
                                   .torn = now.torn,
                                   .out_of_order = now.out_of_order};
  return c_api::to_c(c_api::give_struct(all, counts, bytes));
}

opdump_status opdump_chunks_stop(void) {
  ProcessChunks& chunks = ProcessChunks::instance();
  const std::lock_guard lock(chunks.control);
  return c_api::to_c(chunks.dump.stop());
}

std::size_t opdump_chunks_error(char* text, std::size_t bytes) {
  ProcessChunks& chunks = ProcessChunks::instance();
  const std::lock_guard lock(chunks.control);
  return c_api::give_text(chunks.dump.error(), text, bytes);
}

}  // extern "C"
