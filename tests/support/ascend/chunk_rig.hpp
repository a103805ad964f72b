#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <string>
#include <string_view>
#include <vector>

#include "opdump/acl.h"
#include "platform/ascend/chunk_consumer.hpp"

namespace opdump::tests {

/// How a chunk differs from one that brings all of a file.
struct ChunkOptions {
  std::uint32_t last = 1;
  std::int64_t offset = -1;
  std::int32_t flag = 0;
  std::int32_t longer = 0;  ///< what the callback's second argument says too much
};

/// Hands a chunk to `consumer`, in memory of its exact size.
inline Status take_chunk(ascend::ChunkConsumer& consumer, std::string_view name, std::string_view data,
                         const ChunkOptions& options = {}) {
  constexpr std::size_t kHead = offsetof(acldumpChunk, dataBuf);
  std::vector<std::uint64_t> memory((sizeof(acldumpChunk) + data.size() + 7) / 8);
  acldumpChunk& chunk = *new (memory.data()) acldumpChunk;
  std::memset(&chunk, 0, kHead);
  name.copy(chunk.fileName, sizeof chunk.fileName - 1);
  chunk.bufLen = static_cast<std::uint32_t>(data.size());
  chunk.isLastChunk = options.last;
  chunk.offset = options.offset;
  chunk.flag = options.flag;
  data.copy(reinterpret_cast<char*>(memory.data()) + kHead, data.size());
  return consumer.take(chunk, static_cast<std::int32_t>(sizeof chunk + data.size()) + options.longer);
}

/// A consumer with memory of its own over a sink and a clock.
template <std::size_t kRingBytes = 64 * 1024>
struct ChunkRig {
  ChunkRig(Sink& sink, Clock& clock, WhenFull when_full = WhenFull::inline_drain, std::uint32_t limit_ms = 50)
      : consumer({.sink = sink,
                  .clock = clock,
                  .ring = ring,
                  .journal = journal,
                  .when_full = when_full,
                  .block_limit_ms = limit_ms}) {}

  alignas(8) std::byte ring[kRingBytes];
  std::byte journal[ascend::ChunkConsumer::kJournalBytes];
  ascend::ChunkConsumer consumer;
};

/// A config that wants every operator of every model.
inline DumpConfig chunk_config(std::string_view dump_path) {
  static const ModelRule every[] = {{.any_model = true}};
  DumpConfig config;
  config.asked = config.active = true;
  config.dump_path = dump_path;
  config.single_ops = true;
  config.models = every;
  return config;
}

}  // namespace opdump::tests
