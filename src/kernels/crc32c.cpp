#include "opdump/base/crc32c.hpp"

namespace opdump {
inline namespace OPDUMP_NAMESPACE {
namespace {

#if defined(__x86_64__)
constexpr std::size_t kLane = 1024;

/// What `crc` becomes once kLane bytes of zeros have followed.
struct ZeroLane {
  constexpr ZeroLane() {
    std::uint32_t of_bit[32] = {};
    for (unsigned bit = 0; bit < 32; ++bit) {
      std::uint32_t crc = std::uint32_t{1} << bit;
      for (std::size_t i = 0; i < 8 * kLane; ++i) crc = crc >> 1 ^ (crc % 2 != 0 ? kCrc32cPolynomial : 0);
      of_bit[bit] = crc;
    }
    for (unsigned byte = 0; byte < 4; ++byte) {
      for (unsigned value = 0; value < 256; ++value) {
        std::uint32_t sum = 0;
        for (unsigned bit = 0; bit < 8; ++bit) sum ^= (value >> bit & 1) != 0 ? of_bit[8 * byte + bit] : 0;
        of_byte[byte][value] = sum;
      }
    }
  }

  std::uint32_t of(std::uint32_t crc) const {
    return of_byte[0][crc & 0xff] ^ of_byte[1][crc >> 8 & 0xff] ^ of_byte[2][crc >> 16 & 0xff] ^
           of_byte[3][crc >> 24];
  }

  std::uint32_t of_byte[4][256] = {};
};

constexpr ZeroLane make_zero_lane() {
  return ZeroLane();
}

/// Three lanes at a time: the instruction takes three cycles, and one may begin in each.
[[gnu::target("sse4.2")]] std::uint32_t crc32c_sse42(std::uint32_t crc, const std::byte* at,
                                                     std::size_t bytes) {
  static constexpr ZeroLane kZeroLane = make_zero_lane();
  std::uint64_t first = static_cast<std::uint32_t>(~crc);
  for (; bytes >= 3 * kLane; bytes -= 3 * kLane, at += 3 * kLane) {
    std::uint64_t second = 0;
    std::uint64_t third = 0;
    for (std::size_t i = 0; i < kLane; i += 8) {
      first = __builtin_ia32_crc32di(first, load_little_endian<std::uint64_t>(at + i));
      second = __builtin_ia32_crc32di(second, load_little_endian<std::uint64_t>(at + kLane + i));
      third = __builtin_ia32_crc32di(third, load_little_endian<std::uint64_t>(at + 2 * kLane + i));
    }
    second ^= kZeroLane.of(static_cast<std::uint32_t>(first));
    first = third ^ kZeroLane.of(static_cast<std::uint32_t>(second));
  }
  for (; bytes >= 8; bytes -= 8, at += 8)
    first = __builtin_ia32_crc32di(first, load_little_endian<std::uint64_t>(at));
  std::uint32_t rest = static_cast<std::uint32_t>(first);
  for (; bytes != 0; --bytes, ++at) rest = __builtin_ia32_crc32qi(rest, std::to_integer<std::uint8_t>(*at));
  return ~rest;
}
#endif

}  // namespace

Crc32cKernel crc32c_kernel() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("sse4.2")) return crc32c_sse42;
#endif
  return crc32c;
}

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump
