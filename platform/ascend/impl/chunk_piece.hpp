#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "opdump/acl.h"
#include "opdump/base/bytes.hpp"
#include "opdump/base/fnv.hpp"
#include "platform/ascend/chunk_name.hpp"

namespace opdump::ascend {
inline namespace OPDUMP_NAMESPACE {

/// A chunk of CANN's, taken apart. Refers to it.
struct ChunkPiece {
  ChunkName name{};
  std::uint64_t id = 0;  ///< of the file
  Bytes data{};          ///< none of a torn chunk
  std::int64_t offset = 0;
  bool last = false;
  bool torn = false;  ///< its length is not what the chunk says
  bool aborted = false;
};

/// `bytes` is CANN's second argument, the bytes of chunk and data. False: the name is none that stays below
/// its directory.
inline bool parse_chunk(const acldumpChunk& chunk, std::int32_t bytes, std::string_view dump_path,
                        ChunkPiece& piece) {
  const void* const end = std::memchr(chunk.fileName, 0, sizeof chunk.fileName);
  if (end == nullptr ||
      !parse_chunk_name(
          {chunk.fileName, static_cast<std::size_t>(static_cast<const char*>(end) - chunk.fileName)},
          dump_path, piece.name))
    return false;
  piece.id = fnv1a(piece.name.path);
  piece.torn = bytes < 0 || static_cast<std::uint32_t>(bytes) < sizeof chunk ||
               static_cast<std::uint32_t>(bytes) - sizeof chunk != chunk.bufLen;
  if (!piece.torn) piece.data = {reinterpret_cast<const std::byte*>(chunk.dataBuf), chunk.bufLen};
  // CANN's statistics come with a zero behind their text, which is not in the file.
  if (piece.name.is_csv() && !piece.data.empty() && piece.data.back() == std::byte{0})
    piece.data = piece.data.first(piece.data.size() - 1);
  piece.offset = piece.name.is_csv() ? -1 : chunk.offset;
  piece.last = chunk.isLastChunk != 0;
  piece.aborted = chunk.flag == OPDUMP_ACL_ABORTED;
  return true;
}

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::ascend
