#pragma once
#include <cstddef>
#include <cstdint>

#include "opdump/base/bytes.hpp"
#include "opdump/base/crc32c.hpp"

/// The frames of a wire, version 1, field by field in the README of this folder.

namespace opdump::wire {
inline namespace OPDUMP_NAMESPACE {

inline constexpr std::uint32_t kVersion = 1;

/// What a frame is, or the entry that it ends.
enum class Kind : std::uint8_t {
  part = 0,  ///< the entry goes on in the next frame, and the last one says what it is
  begin = 1,
  data = 2,
  commit = 3,
  abort = 4,
  lines = 5,
  state = 8,  ///< from the device: what it has sent, and what it can send again
  ended = 9,  ///< as `state`, and nothing comes any more
  ask = 10,   ///< to the device: send those frames again
};

/// Of a frame's first byte: no entry, and its number is another frame's.
inline constexpr std::uint32_t kUnnumbered = 0x08;
/// The entry began in a frame before.
inline constexpr std::uint32_t kContinued = 0x10;

constexpr std::uint32_t first_byte(Kind kind) {
  return kVersion << 5 | static_cast<std::uint32_t>(kind);
}

// Offsets in a frame.
inline constexpr std::size_t kBootAt = 1;
inline constexpr std::size_t kNumberAt = 5;
inline constexpr std::size_t kBodyAt = 9;

inline constexpr std::size_t kCrcBytes = 4;
inline constexpr std::size_t kObjectBytes = 4;
/// The CRC-32C of a frame; with OPDUMP_SMALL_CODE without a table.
inline std::uint32_t frame_crc(const std::byte* frame, std::size_t bytes) {
  constexpr std::size_t kTableBytes = build::kLean ? 0 : OPDUMP_CRC_TABLE_BYTES;
  return update_crc<kCrc32cPolynomial, kTableBytes>(0, frame, bytes);
}

/// In a state that answers no request.
inline constexpr std::uint32_t kNotAsked = 0xffffffff;
/// COBS then adds one byte to a frame, wherever the zeros are.
inline constexpr std::size_t kMaxFrameBytes = 254;
/// Of an `ask` as it stands between two zeros: a number of frames is its body.
inline constexpr std::size_t kAskBytes = 1 + kBodyAt + 1 + kCrcBytes;

/// COBS (Cheshire and Baker, Consistent Overhead Byte Stuffing, 1997) in place: writes the first code to `*lead`, and
/// turns each zero among the `bytes` bytes behind it, 254 at most, into the distance to the next.
inline void stuff(std::byte* lead, std::size_t bytes) {
  std::byte* at = lead + bytes;
  for (std::uint32_t code = 1;; --at, ++code) {
    if (at != lead && *at != std::byte{0}) continue;
    *at = static_cast<std::byte>(code);
    if (at == lead) return;
    code = 0;
  }
}

/// The reverse, for `bytes` bytes, none of which is zero, 255 at most: what they held begins behind `*lead`.
/// False when nothing is stuffed so.
inline bool unstuff(std::byte* lead, std::size_t bytes) {
  std::size_t at = 0;
  while (at < bytes) {
    const std::size_t code = std::to_integer<std::size_t>(lead[at]);
    lead[at] = std::byte{0};
    at += code;
  }
  return at == bytes;
}

/// Writes head and CRC round a body that is in its place, and stuffs all. Returns the bytes that then stand
/// from `lead` on, which a zero ends.
inline std::size_t seal(std::byte* lead, std::uint32_t first, std::uint32_t boot, std::uint32_t number,
                        std::size_t body_bytes) {
  std::byte* const frame = lead + 1;
  frame[0] = static_cast<std::byte>(first);
  store_little_endian(frame + kBootAt, boot);
  store_little_endian(frame + kNumberAt, number);
  const std::size_t bytes = kBodyAt + body_bytes;
  store_little_endian(frame + bytes, frame_crc(frame, bytes));
  stuff(lead, bytes + kCrcBytes);
  return 1 + bytes + kCrcBytes;
}

/// Unstuffs what stands between two zeros. Whether a frame then begins behind `*lead`; its body has
/// `bytes - 1 - kBodyAt - kCrcBytes` bytes.
inline bool unseal(std::byte* lead, std::size_t bytes) {
  if (bytes < 1 + kBodyAt + kCrcBytes || bytes > 1 + kMaxFrameBytes || !unstuff(lead, bytes)) return false;
  const std::size_t checked = bytes - 1 - kCrcBytes;
  return frame_crc(lead + 1, checked) == load_little_endian<std::uint32_t>(lead + 1 + checked);
}

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::wire
