#pragma once
#include <cstdint>

#include "platform/flashlog/block.hpp"

namespace opdump::flashlog {
inline namespace OPDUMP_NAMESPACE {

/// A log inside an image of a larger part.
struct FoundLog {
  Geometry geometry;       ///< `bits_only_clear` is not known and false: a reader does not need it
  std::uint64_t base = 0;  ///< where in the image block 0 begins
};

/// Looks for the first block header in `image_bytes` bytes and takes the geometry from it. `read(offset,
/// MutableBytes)` gives a Status. `not_found` when there is none; `not_supported` when the first one is of a
/// newer version.
template <class Read>
Result<FoundLog> find_log(std::uint64_t image_bytes, Read read) {
  // Block sizes are multiples of the page, which is no smaller than this.
  constexpr std::uint64_t kStep = 128;
  for (std::uint64_t at = 0; at + sizeof(Header) <= image_bytes; at += kStep) {
    Header header;
    if (read(at, MutableBytes(header.bytes(), sizeof header)) != Status::ok || !is_header(header)) continue;
    if (header.head.version > kVersion) return Status::not_supported;
    FoundLog found;
    found.geometry.block_bytes = header.head.block_bytes;
    found.geometry.block_count = header.head.block_count;
    found.geometry.program_bytes = header.head.program_bytes;
    found.geometry.erased = header.head.erased;
    const std::uint64_t before = std::uint64_t{header.head.block} * header.head.block_bytes;
    if (before > at || !is_usable(found.geometry)) continue;
    found.base = at - before;
    return found;
  }
  return Status::not_found;
}

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::flashlog
