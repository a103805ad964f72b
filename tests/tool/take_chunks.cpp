// Hands a recorded stream of chunks to opdump_take_chunk, as CANN hands them to a callback. On stdin each chunk is the
// callback's second argument, in four bytes, and then CANN's struct with its data, `bufLen` bytes of it.
//
// usage: take_chunks CONFIG < STREAM

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>

#include "opdump/acl.h"
#include "opdump/acl_chunks.h"

namespace {

bool read_all(void* to, std::size_t bytes) {
  return std::fread(to, 1, bytes, stdin) == bytes;
}

void say_error(const char* what) {
  std::string text(opdump_chunks_error(nullptr, 0), '\0');
  opdump_chunks_error(text.data(), text.size() + 1);
  std::printf("%s: %s\n", what, text.c_str());
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  constexpr std::size_t kHead = offsetof(acldumpChunk, dataBuf);
  acldumpChunk none = {};
  std::printf("before: %d\n", opdump_take_chunk(&none, sizeof none));
  if (opdump_chunks_start(argv[1]) != OPDUMP_OK) {
    say_error("refused");
    return 1;
  }
  if (std::getenv("TELL_CANN") != nullptr) opdump_chunks_tell_cann(1);
  unsigned refused = 0;
  for (std::int32_t bytes = 0; read_all(&bytes, sizeof bytes);) {
    acldumpChunk head;
    if (!read_all(&head, kHead)) return 2;
    // The exact bytes, so that a sanitizer sees a read behind them.
    const std::unique_ptr<std::byte[]> memory(new std::byte[kHead + head.bufLen]);
    std::memcpy(memory.get(), &head, kHead);
    if (!read_all(memory.get() + kHead, head.bufLen)) return 2;
    if (opdump_take_chunk(reinterpret_cast<const acldumpChunk*>(memory.get()), bytes) != 0) ++refused;
  }
  const opdump_status stopped = opdump_chunks_stop();
  if (stopped != OPDUMP_OK) say_error("stopped");
  opdump_chunk_counts counts;
  opdump_chunks_counts(&counts, sizeof counts);
  std::printf(
      "chunks %u wanted %u written %u lost %u unwanted %u late %u repeated %u torn %u out_of_order %u "
      "refused %u\n",
      counts.chunks, counts.wanted, counts.written, counts.lost, counts.unwanted, counts.late,
      counts.repeated, counts.torn, counts.out_of_order, refused);
  return 0;
}
