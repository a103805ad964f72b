#pragma once
#include <cstdint>

#include "opdump/crc32.hpp"
#include "platform/flashlog/device.hpp"
#include "platform/flashlog/format.hpp"

namespace opdump::flashlog {
inline namespace OPDUMP_NAMESPACE {

/// A header with all that it may hold.
struct Header {
  BlockHeader head;
  std::byte rest[kMaxHeaderBytes - sizeof(BlockHeader)];  ///< the retired blocks, the CRC

  std::byte* bytes() { return reinterpret_cast<std::byte*>(this); }
};
static_assert(sizeof(Header) == kMaxHeaderBytes);

enum class BlockUse : std::uint8_t {
  none,      ///< no header
  foreign,   ///< a header of another version or geometry
  prepared,  ///< a header, and nothing seems to follow
  taken,     ///< a header, and something follows
};

/// The header of `block` without the retired blocks and the CRC.
inline BlockHeader block_header(const Geometry& part, std::uint32_t block, std::uint32_t sequence,
                                std::uint32_t retired_count, std::uint32_t bytes) {
  return {
      .magic = kMagic,
      .version = kVersion,
      .erased = part.erased,
      .bytes = static_cast<std::uint16_t>(bytes),
      .sequence = sequence,
      .block_bytes = part.block_bytes,
      .block_count = static_cast<std::uint16_t>(part.block_count),
      .block = static_cast<std::uint16_t>(block),
      .program_bytes = static_cast<std::uint16_t>(part.program_bytes),
      .retired_count = static_cast<std::uint16_t>(retired_count),
  };
}

/// Whether `header` is one, of any version.
inline bool is_header(Header& header) {
  const std::uint32_t bytes = header.head.bytes;
  if (header.head.magic != kMagic || bytes < sizeof(BlockHeader) + kCrcBytes || bytes > sizeof header) {
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
  while (bytes != 0) {
    std::byte memory[16];
    const std::uint32_t piece = bytes < sizeof memory ? bytes : sizeof memory;
    if (device.read(device.context, block, offset, {memory, piece}) != Status::ok) return false;
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
  return head.version != 0 && head.version <= kVersion && head.erased == part.erased &&
         head.block_bytes == part.block_bytes && head.block_count == part.block_count &&
         head.block == block && head.program_bytes == part.program_bytes &&
         head.bytes == sizeof(BlockHeader) + sizeof(std::uint16_t) * head.retired_count + kCrcBytes;
}

/// Reads the header of `block`, as if nothing followed. What cannot be read counts as none.
inline BlockUse read_header(const Device& device, std::uint32_t block, Header& header) {
  if (device.read(device.context, block, 0, {header.bytes(), sizeof header}) != Status::ok ||
      !is_header(header)) {
    return BlockUse::none;
  }
  return is_known(header.head, device.geometry, block) ? BlockUse::prepared : BlockUse::foreign;
}

/// What a block is used for that begins with `bytes` bytes of header.
inline BlockUse look_behind(const Device& device, std::uint32_t block, std::uint32_t bytes) {
  // What follows begins right behind, or at the next granule.
  const std::uint32_t next = round_up(bytes, device.geometry.program_bytes);
  return reads_as(device, block, bytes, nullptr, 1) && reads_as(device, block, next, nullptr, 1)
             ? BlockUse::prepared
             : BlockUse::taken;
}

/// Reads the header of `block`, and what seems to follow. What cannot be read counts as none.
inline BlockUse look_at(const Device& device, std::uint32_t block, Header& header) {
  const BlockUse use = read_header(device, block, header);
  return use == BlockUse::prepared ? look_behind(device, block, header.head.bytes) : use;
}

/// What the log has to know of a block's header on its way; the header itself would take too much of the
/// stack.
struct HeaderFacts {
  std::uint32_t sequence = 0;
  std::uint32_t bytes = 0;
};

/// As `read_header`. Not inline, so that its stack is free again before what follows is read.
[[gnu::noinline]] inline BlockUse read_facts(const Device& device, std::uint32_t block, HeaderFacts& facts) {
  Header header;
  const BlockUse use = read_header(device, block, header);
  if (use == BlockUse::prepared) facts = {header.head.sequence, header.head.bytes};
  return use;
}

/// As `look_at` above.
inline BlockUse look_at(const Device& device, std::uint32_t block, HeaderFacts& facts) {
  const BlockUse use = read_facts(device, block, facts);
  return use == BlockUse::prepared ? look_behind(device, block, facts.bytes) : use;
}

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::flashlog
