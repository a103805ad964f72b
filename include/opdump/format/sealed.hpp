#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "opdump/base/bytes.hpp"
#include "opdump/port/sealer.hpp"

/// What a SealedSink makes of the objects and lines of a dump, version 1. Numbers are little-endian, offsets
/// in bytes.
///
/// An object becomes one stream: a head and chunks. A file of lines, as a journal, becomes one stream after
/// another, each of which can be opened without those before it.
///
///     head
///      0  6 bytes  "OPSEAL"
///      6  u8   version
///      7  u8   kind: 0 an object, 1 lines
///      8  u32  C: a chunk has no more bytes of text
///     12  u32  number of the stream; no other one under the same ephemeral key has it
///     16  8 bytes  key id: the first bytes of the recipient's public key
///     24  32 bytes  the ephemeral public key
///
///     chunk
///      0  u32  number of the stream
///      4  u32  number of the chunk in the stream, from 0
///      8  u32  n, the bytes of text, times 2; plus 1 in the last chunk of an object
///     12  n bytes  text, encrypted
///   12+n  16 bytes  tag
///
/// The chunks of an object but the last one have C bytes of text. Those of lines may have fewer: each piece
/// of lines begins a chunk.
///
/// *Keys.* A session, from one `SealedSink::seal` to the next, has one ephemeral pair of X25519 and one key:
/// HKDF-SHA256 of the secret that the pair shares with the recipient, without a salt, with the info
/// "opdump seal 1", the ephemeral public key and the recipient's; 32 bytes. A chunk is sealed with that key
/// by ChaCha20-Poly1305. Its nonce is its first 12 bytes, which never repeat under one key; associated with
/// it is the head of its stream. So no byte of a file is without a tag.
///
/// *Text* of a stream: u16 bytes of the object's directory, u16 bytes of its file's name, the directory, the
/// name; of lines also u32 number of the stream before this one in the file and u32 how many chunks that has,
/// all ones if there is none or it is not known. Then the object's bytes, or the lines.

namespace opdump::sealed {
inline namespace OPDUMP_NAMESPACE {

inline constexpr std::string_view kMagic{"OPSEAL", 6};
inline constexpr std::uint8_t kVersion = 1;
inline constexpr std::string_view kInfo{"opdump seal 1", 13};
inline constexpr std::size_t kInfoBytes = kInfo.size() + 2 * kSealKeyBytes;

inline constexpr std::size_t kHeadBytes = 56;
inline constexpr std::size_t kVersionOffset = 6;
inline constexpr std::size_t kKindOffset = 7;
inline constexpr std::size_t kMostOffset = 8;
inline constexpr std::size_t kStreamOffset = 12;
inline constexpr std::size_t kKeyIdOffset = 16;
inline constexpr std::size_t kKeyIdBytes = 8;
inline constexpr std::size_t kEphemeralOffset = 24;

inline constexpr std::uint32_t kChunkHeadBytes = kSealNonceBytes;
inline constexpr std::size_t kChunkOffset = 4;
inline constexpr std::size_t kSizeOffset = 8;
/// What a chunk has besides its text.
inline constexpr std::uint32_t kChunkMore = kSealNonceBytes + kSealTagBytes;

inline constexpr std::byte kObject{0};
inline constexpr std::byte kLines{1};

/// Streams under one key are fewer, so that no chunk begins as a head does.
inline constexpr std::uint32_t kMaxStreams = 0x40000000;
inline constexpr std::uint32_t kNoStream = 0xffffffff;
inline constexpr std::uint32_t kMaxChunkBytes = 0x100000;

/// The info that a session's key is derived with.
inline void put_info(std::span<std::byte, kInfoBytes> info, SealKey ephemeral, SealKey recipient) {
  std::memcpy(info.data(), kInfo.data(), kInfo.size());
  std::memcpy(info.data() + kInfo.size(), ephemeral.data(), kSealKeyBytes);
  std::memcpy(info.data() + kInfo.size() + kSealKeyBytes, recipient.data(), kSealKeyBytes);
}

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::sealed
