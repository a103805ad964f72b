#pragma once
#include <cstdint>
#include <cstring>

#include "opdump/base/crc32.hpp"
#include "platform/flashlog/device.hpp"
#include "platform/flashlog/format.hpp"

namespace opdump::flashlog {
inline namespace OPDUMP_NAMESPACE {

/// A header with all that it may hold.
struct Header {
  BlockHeader head;
  std::byte rest[kMaxHeaderBytes - sizeof(BlockHeader)];  ///< the retired blocks, what is given up, the CRC
  std::byte behind[4];  ///< of which the first may be the one behind the CRC

  std::byte* bytes() { return reinterpret_cast<std::byte*>(this); }
};
static_assert(sizeof(Header) == kMaxHeaderBytes + 4);

enum class BlockUse : std::uint8_t {
  none,        ///< no header
  foreign,     ///< a header of another version or geometry
  prepared,    ///< a header, and nothing seems to follow
  taken,       ///< a header, and something follows
  unreadable,  ///< bad, in use or not to be read now: there may be anything, and it stays
};

/// A read that fails is done again, for errors that pass.
inline constexpr std::uint32_t kReadTries = 3;

/// Whether `header` is one, of any version.
inline bool is_header(Header& header) {
  const std::uint32_t bytes = header.head.bytes;
  if (header.head.magic != kMagic || bytes < sizeof(BlockHeader) + kCrcBytes || bytes > kMaxHeaderBytes) {
    return false;
  }
  const std::uint32_t before_crc = bytes - kCrcBytes;
  return crc32(0, {header.bytes(), before_crc}) ==
         load_little_endian<std::uint32_t>(header.bytes() + before_crc);
}

/// Whether a block reads as the `bytes` bytes at `expected`, or as erased where that is null. False when it
/// cannot be read.
inline bool reads_as(const Device& device, std::uint32_t block, std::uint32_t offset,
                     const std::byte* expected, std::uint32_t bytes) {
  for (std::uint32_t tries = kReadTries; bytes != 0;) {
    std::byte memory[16];
    const std::uint32_t piece = bytes < sizeof memory ? bytes : sizeof memory;
    if (device.read(device.context, block, offset, {memory, piece}) != Status::ok) {
      if (--tries == 0) return false;
      continue;
    }
    tries = kReadTries;
    for (std::uint32_t i = 0; i < piece; ++i) {
      if (memory[i] != (expected != nullptr ? *expected++ : device.geometry.erased)) return false;
    }
    offset += piece;
    bytes -= piece;
  }
  return true;
}

/// Whether all of the block from `offset` on is erased.
inline bool is_blank(const Device& device, std::uint32_t block, std::uint32_t offset) {
  return reads_as(device, block, offset, nullptr, device.geometry.block_bytes - offset);
}

/// Whether `head` is that of `block` in such a part, of a version that is known here.
inline bool is_known(const BlockHeader& head, const Geometry& part, std::uint32_t block) {
  return head.format / 2 == kVersion && head.retired_count <= kMaxRetired && head.erased == part.erased &&
         head.block_bytes == part.block_bytes && head.block_count == part.block_count &&
         head.block == block && head.program_bytes == part.program_bytes;
}

/// Reads the header of `block`, and what seems to follow; if only that cannot be read, there is something.
inline BlockUse look_at(const Device& device, std::uint32_t block, Header& header) {
  std::uint32_t tries = kReadTries;
  while (device.read(device.context, block, 0, {header.bytes(), sizeof header}) != Status::ok) {
    if (--tries == 0) return BlockUse::unreadable;
  }
  if (!is_header(header)) return BlockUse::none;
  if (!is_known(header.head, device.geometry, block)) return BlockUse::foreign;
  // What follows begins right behind, or at the next granule.
  const std::uint32_t bytes = header.head.bytes;
  const std::uint32_t next = round_up(bytes, device.geometry.program_bytes);
  return header.bytes()[bytes] == device.geometry.erased && reads_as(device, block, next, nullptr, 1)
             ? BlockUse::prepared
             : BlockUse::taken;
}

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::flashlog
