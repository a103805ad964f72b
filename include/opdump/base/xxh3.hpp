#pragma once
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "opdump/base/bytes.hpp"

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace opdump {
inline namespace OPDUMP_NAMESPACE {

namespace xxh3 {

inline constexpr std::uint64_t kPrime32[] = {0x9e3779b1, 0x85ebca77, 0xc2b2ae3d};
inline constexpr std::uint64_t kPrime64[] = {0x9e3779b185ebca87, 0xc2b2ae3d27d4eb4f, 0x165667b19e3779f9,
                                             0x85ebca77c2b2ae63, 0x27d4eb2f165667c5};

/// The default secret.
inline constexpr std::size_t kSecretBytes = 192;
inline constexpr std::uint8_t kSecret[kSecretBytes] = {
    0xb8, 0xfe, 0x6c, 0x39, 0x23, 0xa4, 0x4b, 0xbe, 0x7c, 0x01, 0x81, 0x2c, 0xf7, 0x21, 0xad, 0x1c,
    0xde, 0xd4, 0x6d, 0xe9, 0x83, 0x90, 0x97, 0xdb, 0x72, 0x40, 0xa4, 0xa4, 0xb7, 0xb3, 0x67, 0x1f,
    0xcb, 0x79, 0xe6, 0x4e, 0xcc, 0xc0, 0xe5, 0x78, 0x82, 0x5a, 0xd0, 0x7d, 0xcc, 0xff, 0x72, 0x21,
    0xb8, 0x08, 0x46, 0x74, 0xf7, 0x43, 0x24, 0x8e, 0xe0, 0x35, 0x90, 0xe6, 0x81, 0x3a, 0x26, 0x4c,
    0x3c, 0x28, 0x52, 0xbb, 0x91, 0xc3, 0x00, 0xcb, 0x88, 0xd0, 0x65, 0x8b, 0x1b, 0x53, 0x2e, 0xa3,
    0x71, 0x64, 0x48, 0x97, 0xa2, 0x0d, 0xf9, 0x4e, 0x38, 0x19, 0xef, 0x46, 0xa9, 0xde, 0xac, 0xd8,
    0xa8, 0xfa, 0x76, 0x3f, 0xe3, 0x9c, 0x34, 0x3f, 0xf9, 0xdc, 0xbb, 0xc7, 0xc7, 0x0b, 0x4f, 0x1d,
    0x8a, 0x51, 0xe0, 0x4b, 0xcd, 0xb4, 0x59, 0x31, 0xc8, 0x9f, 0x7e, 0xc9, 0xd9, 0x78, 0x73, 0x64,
    0xea, 0xc5, 0xac, 0x83, 0x34, 0xd3, 0xeb, 0xc3, 0xc5, 0x81, 0xa0, 0xff, 0xfa, 0x13, 0x63, 0xeb,
    0x17, 0x0d, 0xdd, 0x51, 0xb7, 0xf0, 0xda, 0x49, 0xd3, 0x16, 0x55, 0x26, 0x29, 0xd4, 0x68, 0x9e,
    0x2b, 0x16, 0xbe, 0x58, 0x7d, 0x47, 0xa1, 0xfc, 0x8f, 0xf8, 0xb8, 0xd1, 0x7a, 0xd0, 0x31, 0xce,
    0x45, 0xcb, 0x3a, 0x8f, 0x95, 0x16, 0x04, 0x28, 0xaf, 0xd7, 0xfb, 0xca, 0xbb, 0x4b, 0x40, 0x7e};

inline std::uint64_t word(const std::byte* at) {
  return load_little_endian<std::uint64_t>(at);
}
inline std::uint64_t half(const std::byte* at) {
  return load_little_endian<std::uint32_t>(at);
}
inline std::uint64_t secret(std::size_t at) {
  return word(reinterpret_cast<const std::byte*>(kSecret) + at);
}

constexpr std::uint64_t swapped(std::uint64_t value) {
  value = (value & 0x00ff00ff00ff00ff) << 8 | (value >> 8 & 0x00ff00ff00ff00ff);
  value = (value & 0x0000ffff0000ffff) << 16 | (value >> 16 & 0x0000ffff0000ffff);
  return std::rotl(value, 32);
}

/// The two halves of the product of 128 bits, combined.
constexpr std::uint64_t folded_product(std::uint64_t a, std::uint64_t b) {
#if defined(__SIZEOF_INT128__)
  __extension__ using Wide = unsigned __int128;
  const Wide product = static_cast<Wide>(a) * b;
  return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
#else
  constexpr std::uint64_t kLow = 0xffffffff;
  const std::uint64_t low = (a & kLow) * (b & kLow);
  const std::uint64_t one = (a >> 32) * (b & kLow) + (low >> 32);
  const std::uint64_t other = (a & kLow) * (b >> 32) + (one & kLow);
  const std::uint64_t high = (a >> 32) * (b >> 32) + (one >> 32) + (other >> 32);
  return high ^ (other << 32 | (low & kLow));
#endif
}

constexpr std::uint64_t avalanche(std::uint64_t hash) {
  hash = (hash ^ hash >> 37) * 0x165667919e3779f9;
  return hash ^ hash >> 32;
}
constexpr std::uint64_t strong_avalanche(std::uint64_t hash) {
  hash = (hash ^ hash >> 33) * kPrime64[1];
  hash = (hash ^ hash >> 29) * kPrime64[2];
  return hash ^ hash >> 32;
}

inline std::uint64_t mixed(const std::byte* at, std::size_t secret_at) {
  return folded_product(word(at) ^ secret(secret_at), word(at + 8) ^ secret(secret_at + 8));
}

inline std::uint64_t hash_to_16(const std::byte* at, std::size_t bytes) {
  if (bytes > 8) {
    const std::uint64_t low = word(at) ^ secret(24) ^ secret(32);
    const std::uint64_t high = word(at + bytes - 8) ^ secret(40) ^ secret(48);
    return avalanche(bytes + swapped(low) + high + folded_product(low, high));
  }
  if (bytes >= 4) {
    std::uint64_t hash = half(at + bytes - 4) + (half(at) << 32);
    hash ^= secret(8) ^ secret(16);
    hash = (hash ^ std::rotl(hash, 49) ^ std::rotl(hash, 24)) * 0x9fb21c651e98df25;
    hash = (hash ^ ((hash >> 35) + bytes)) * 0x9fb21c651e98df25;
    return hash ^ hash >> 28;
  }
  if (bytes == 0) return strong_avalanche(secret(56) ^ secret(64));
  const auto byte = [at](std::size_t i) { return std::to_integer<std::uint64_t>(at[i]); };
  const std::uint64_t all = byte(0) << 16 | byte(bytes / 2) << 24 | byte(bytes - 1) | bytes << 8;
  return strong_avalanche(all ^ ((secret(0) ^ secret(0) >> 32) & 0xffffffff));
}

/// Of 17 to 240 bytes.
inline std::uint64_t hash_to_240(const std::byte* at, std::size_t bytes) {
  std::uint64_t hash = bytes * kPrime64[0];
  if (bytes <= 128) {
    for (std::size_t i = (bytes - 1) / 32 + 1; i-- != 0;) {
      hash += mixed(at + 16 * i, 32 * i);
      hash += mixed(at + bytes - 16 * (i + 1), 32 * i + 16);
    }
    return avalanche(hash);
  }
  for (std::size_t i = 0; i < 8; ++i) hash += mixed(at + 16 * i, 16 * i);
  hash = avalanche(hash);
  for (std::size_t i = 8; i < bytes / 16; ++i) hash += mixed(at + 16 * i, 16 * (i - 8) + 3);
  return avalanche(hash + mixed(at + bytes - 16, 136 - 17));
}

}  // namespace xxh3

/// XXH3 of 64 bits, with seed 0 and the default secret, of bytes that come in pieces. For telling tensors
/// apart, not for security. Source: the specification of XXH3, doc/xxhash_spec.md of xxHash 0.8.2.
class Xxh3 {
 public:
  static constexpr std::size_t kBytes = 8;

  // Apart: inlined, GCC 12 warns of bytes before a short piece, which it never looks at.
  [[gnu::noinline]] void add(Bytes bytes) {
    length_ += bytes.size();
    if (bytes.size() <= kBuffer - used_) return keep(bytes);
    const std::size_t now = kBuffer - used_;
    keep(bytes.first(now));
    bytes = bytes.subspan(now);
    take(sums_, buffer_, kBuffer / kStripe, stripe_);
    const std::byte* last = nullptr;
    if (bytes.size() > kBuffer) {
      const std::size_t stripes = (bytes.size() - 1) / kBuffer * (kBuffer / kStripe);
      take(sums_, bytes.data(), stripes, stripe_);
      bytes = bytes.subspan(stripes * kStripe);
      last = bytes.data() - kStripe;
    }
    // The stripe at the very end may begin in it.
    if (last != nullptr) std::memcpy(buffer_ + kBuffer - kStripe, last, kStripe);
    used_ = 0;
    keep(bytes);
  }

  std::uint64_t value() const {
    if (length_ <= 16) return xxh3::hash_to_16(buffer_, used_);
    if (length_ <= 240) return xxh3::hash_to_240(buffer_, used_);
    std::uint64_t sums[kSums];
    std::memcpy(sums, sums_, sizeof sums);
    unsigned stripe = stripe_;
    take(sums, buffer_, (used_ - 1) / kStripe, stripe);
    std::byte end[kStripe];
    const std::size_t before = used_ < kStripe ? kStripe - used_ : 0;
    std::memcpy(end, buffer_ + kBuffer - before, before);
    std::memcpy(end + before, buffer_ + used_ - (kStripe - before), kStripe - before);
    add_stripe(sums, end, xxh3::kSecretBytes - kStripe - 7);
    std::uint64_t hash = length_ * xxh3::kPrime64[0];
    for (std::size_t i = 0; i < kSums; i += 2)
      hash +=
          xxh3::folded_product(sums[i] ^ xxh3::secret(11 + 8 * i), sums[i + 1] ^ xxh3::secret(19 + 8 * i));
    return xxh3::avalanche(hash);
  }

  /// Writes the digest of what was added, the low byte first.
  void finish(std::byte (&to)[kBytes]) { store_little_endian(to, value()); }

 private:
  static constexpr std::size_t kStripe = 64;
  static constexpr std::size_t kBuffer = 4 * kStripe;
  static constexpr std::size_t kSums = 8;
  static constexpr unsigned kStripesOfBlock = (xxh3::kSecretBytes - kStripe) / 8;

  void keep(Bytes bytes) {
    copy_bytes(buffer_ + used_, bytes);
    used_ += bytes.size();
  }

  static void add_stripe(std::uint64_t* sums, const std::byte* at, std::size_t secret_at) {
#if defined(__SSE2__)
    for (std::size_t i = 0; i < kSums; i += 2) {
      const __m128i words = load(at + 8 * i);
      const __m128i keyed = _mm_xor_si128(words, load(xxh3::kSecret + secret_at + 8 * i));
      const __m128i product = _mm_mul_epu32(keyed, _mm_srli_epi64(keyed, 32));
      const __m128i others = _mm_shuffle_epi32(words, _MM_SHUFFLE(1, 0, 3, 2));
      const __m128i sum = _mm_add_epi64(load(sums + i), _mm_add_epi64(product, others));
      _mm_storeu_si128(reinterpret_cast<__m128i*>(sums + i), sum);
    }
#else
    for (std::size_t i = 0; i < kSums; ++i) {
      const std::uint64_t word = xxh3::word(at + 8 * i);
      const std::uint64_t keyed = word ^ xxh3::secret(secret_at + 8 * i);
      sums[i ^ 1] += word;
      sums[i] += (keyed & 0xffffffff) * (keyed >> 32);
    }
#endif
  }

#if defined(__SSE2__)
  static __m128i load(const void* at) {
    return _mm_loadu_si128(static_cast<const __m128i*>(at));
  }
#endif

  /// `stripe`: how many there were since the last scrambling; goes on.
  static void take(std::uint64_t* sums, const std::byte* at, std::size_t stripes, unsigned& stripe) {
    std::uint64_t own[kSums];  // which no byte of a tensor can be, as the compiler knows
    std::memcpy(own, sums, sizeof own);
    for (; stripes != 0; --stripes, at += kStripe) {
      add_stripe(own, at, std::size_t{8} * stripe);
      if (++stripe != kStripesOfBlock) continue;
      stripe = 0;
      for (std::size_t i = 0; i < kSums; ++i) {
        const std::uint64_t sum = own[i] ^ own[i] >> 47 ^ xxh3::secret(xxh3::kSecretBytes - kStripe + 8 * i);
        own[i] = sum * xxh3::kPrime32[0];
      }
    }
    std::memcpy(sums, own, sizeof own);
  }

  std::uint64_t sums_[kSums] = {xxh3::kPrime32[2], xxh3::kPrime64[0], xxh3::kPrime64[1], xxh3::kPrime64[2],
                                xxh3::kPrime64[3], xxh3::kPrime32[1], xxh3::kPrime64[4], xxh3::kPrime32[0]};
  std::uint64_t length_ = 0;
  std::size_t used_ = 0;  ///< of the buffer, which holds at least the last byte
  unsigned stripe_ = 0;
  std::byte buffer_[kBuffer];
};

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump
