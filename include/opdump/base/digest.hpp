#pragma once
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "opdump/base/bytes.hpp"

/// MD5 and SHA-1 of bytes that come in pieces. For telling tensors apart, not for security. Sources: RFC 1321
/// and RFC 3174.

namespace opdump {
inline namespace OPDUMP_NAMESPACE {

/// What they share: blocks of 64 bytes, the last of which ends with the length in bits.
template <class Algorithm>
class Digest {
 public:
  static constexpr std::size_t kBytes = Algorithm::kWords * 4;

  void add(Bytes bytes) {
    const std::size_t used = static_cast<std::size_t>(length_ % kBlock);
    length_ += bytes.size();
    if (used != 0) {
      const std::size_t now = bytes.size() < kBlock - used ? bytes.size() : kBlock - used;
      copy_bytes(block_ + used, bytes.first(now));
      bytes = bytes.subspan(now);
      if (used + now < kBlock) return;
      Algorithm::take(state_, block_);
    }
    for (; bytes.size() >= kBlock; bytes = bytes.subspan(kBlock)) Algorithm::take(state_, bytes.data());
    copy_bytes(block_, bytes);
  }

  /// Writes the digest of what was added. Afterwards the object may only be assigned to.
  void finish(std::byte (&to)[kBytes]) {
    std::size_t used = static_cast<std::size_t>(length_ % kBlock);
    block_[used++] = std::byte{0x80};
    if (used > kBlock - 8) {
      std::memset(block_ + used, 0, kBlock - used);
      Algorithm::take(state_, block_);
      used = 0;
    }
    std::memset(block_ + used, 0, kBlock - 8 - used);
    Algorithm::store(block_ + kBlock - 8, static_cast<std::uint64_t>(length_ * 8));
    Algorithm::take(state_, block_);
    for (std::size_t i = 0; i < Algorithm::kWords; ++i) Algorithm::store(to + 4 * i, state_.words[i]);
  }

 private:
  static constexpr std::size_t kBlock = 64;

  typename Algorithm::State state_;
  std::uint64_t length_ = 0;
  std::byte block_[kBlock];
};

struct Md5Algorithm {
  static constexpr std::size_t kWords = 4;
  struct State {
    std::uint32_t words[kWords] = {0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476};
  };

  template <class T>
  static void store(std::byte* to, T value) {
    store_little_endian(to, value);
  }

  static void take(State& state, const std::byte* block) {
    // The floor of |sin(i)| * 2^32 for i from 1 to 64.
    constexpr std::uint32_t kSines[64] = {
        0xd76aa478, 0xe8c7b756, 0x242070db, 0xc1bdceee, 0xf57c0faf, 0x4787c62a, 0xa8304613, 0xfd469501,
        0x698098d8, 0x8b44f7af, 0xffff5bb1, 0x895cd7be, 0x6b901122, 0xfd987193, 0xa679438e, 0x49b40821,
        0xf61e2562, 0xc040b340, 0x265e5a51, 0xe9b6c7aa, 0xd62f105d, 0x02441453, 0xd8a1e681, 0xe7d3fbc8,
        0x21e1cde6, 0xc33707d6, 0xf4d50d87, 0x455a14ed, 0xa9e3e905, 0xfcefa3f8, 0x676f02d9, 0x8d2a4c8a,
        0xfffa3942, 0x8771f681, 0x6d9d6122, 0xfde5380c, 0xa4beea44, 0x4bdecfa9, 0xf6bb4b60, 0xbebfbc70,
        0x289b7ec6, 0xeaa127fa, 0xd4ef3085, 0x04881d05, 0xd9d4d039, 0xe6db99e5, 0x1fa27cf8, 0xc4ac5665,
        0xf4292244, 0x432aff97, 0xab9423a7, 0xfc93a039, 0x655b59c3, 0x8f0ccc92, 0xffeff47d, 0x85845dd1,
        0x6fa87e4f, 0xfe2ce6e0, 0xa3014314, 0x4e0811a1, 0xf7537e82, 0xbd3af235, 0x2ad7d2bb, 0xeb86d391};
    constexpr std::uint8_t kShifts[4][4] = {
        {7, 12, 17, 22}, {5, 9, 14, 20}, {4, 11, 16, 23}, {6, 10, 15, 21}};
    constexpr std::uint8_t kStart[4] = {0, 1, 5, 0};
    constexpr std::uint8_t kStride[4] = {1, 5, 3, 7};
    std::uint32_t input[16];
    for (std::size_t i = 0; i < 16; ++i) input[i] = load_little_endian<std::uint32_t>(block + 4 * i);
    std::uint32_t a = state.words[0], b = state.words[1], c = state.words[2], d = state.words[3];
    for (std::uint32_t i = 0; i < 64; ++i) {
      const std::uint32_t round = i / 16;
      const std::uint32_t mixed = round == 0   ? (b & c) | (~b & d)
                                  : round == 1 ? (b & d) | (c & ~d)
                                  : round == 2 ? b ^ c ^ d
                                               : c ^ (b | ~d);
      const std::uint32_t sum = a + mixed + kSines[i] + input[(kStart[round] + i * kStride[round]) % 16];
      a = d;
      d = c;
      c = b;
      b += std::rotl(sum, kShifts[round][i % 4]);
    }
    state.words[0] += a;
    state.words[1] += b;
    state.words[2] += c;
    state.words[3] += d;
  }
};

struct Sha1Algorithm {
  static constexpr std::size_t kWords = 5;
  struct State {
    std::uint32_t words[kWords] = {0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0};
  };

  template <class T>
  static void store(std::byte* to, T value) {
    for (std::size_t i = 0; i < sizeof(T); ++i)
      to[i] = static_cast<std::byte>(static_cast<std::uint8_t>(value >> (8 * (sizeof(T) - 1 - i))));
  }

  static std::uint32_t load(const std::byte* from) {
    std::uint32_t word = 0;
    for (std::size_t i = 0; i < 4; ++i) word = word << 8 | std::to_integer<std::uint32_t>(from[i]);
    return word;
  }

  static void take(State& state, const std::byte* block) {
    constexpr std::uint32_t kRounds[4] = {0x5a827999, 0x6ed9eba1, 0x8f1bbcdc, 0xca62c1d6};
    std::uint32_t input[16];  // the last 16 of the 80 words
    for (std::size_t i = 0; i < 16; ++i) input[i] = load(block + 4 * i);
    std::uint32_t a = state.words[0], b = state.words[1], c = state.words[2], d = state.words[3],
                  e = state.words[4];
    for (std::uint32_t i = 0; i < 80; ++i) {
      const std::uint32_t round = i / 20;
      std::uint32_t& word = input[i % 16];
      if (i >= 16)
        word = std::rotl(input[(i + 13) % 16] ^ input[(i + 8) % 16] ^ input[(i + 2) % 16] ^ word, 1);
      const std::uint32_t mixed = round == 0   ? (b & c) | (~b & d)
                                  : round == 2 ? (b & c) | (b & d) | (c & d)
                                               : b ^ c ^ d;
      const std::uint32_t next = std::rotl(a, 5) + mixed + e + word + kRounds[round];
      e = d;
      d = c;
      c = std::rotl(b, 30);
      b = a;
      a = next;
    }
    state.words[0] += a;
    state.words[1] += b;
    state.words[2] += c;
    state.words[3] += d;
    state.words[4] += e;
  }
};

using Md5 = Digest<Md5Algorithm>;
using Sha1 = Digest<Sha1Algorithm>;

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump
