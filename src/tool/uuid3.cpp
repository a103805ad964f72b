#include "uuid3.hpp"

#include <array>
#include <bit>
#include <cstdint>

#include "opdump/bytes.hpp"

namespace opdump::tool {
namespace {

constexpr std::string_view kDnsNamespace("\x6b\xa7\xb8\x10\x9d\xad\x11\xd1\x80\xb4\x00\xc0\x4f\xd4\x30\xc8",
                                         16);

/// 2^32 times the absolute values of the sines of 1 to 64 (RFC 1321).
constexpr std::array<std::uint32_t, 64> kSines = {
    0xd76aa478, 0xe8c7b756, 0x242070db, 0xc1bdceee, 0xf57c0faf, 0x4787c62a, 0xa8304613, 0xfd469501,
    0x698098d8, 0x8b44f7af, 0xffff5bb1, 0x895cd7be, 0x6b901122, 0xfd987193, 0xa679438e, 0x49b40821,
    0xf61e2562, 0xc040b340, 0x265e5a51, 0xe9b6c7aa, 0xd62f105d, 0x02441453, 0xd8a1e681, 0xe7d3fbc8,
    0x21e1cde6, 0xc33707d6, 0xf4d50d87, 0x455a14ed, 0xa9e3e905, 0xfcefa3f8, 0x676f02d9, 0x8d2a4c8a,
    0xfffa3942, 0x8771f681, 0x6d9d6122, 0xfde5380c, 0xa4beea44, 0x4bdecfa9, 0xf6bb4b60, 0xbebfbc70,
    0x289b7ec6, 0xeaa127fa, 0xd4ef3085, 0x04881d05, 0xd9d4d039, 0xe6db99e5, 0x1fa27cf8, 0xc4ac5665,
    0xf4292244, 0x432aff97, 0xab9423a7, 0xfc93a039, 0x655b59c3, 0x8f0ccc92, 0xffeff47d, 0x85845dd1,
    0x6fa87e4f, 0xfe2ce6e0, 0xa3014314, 0x4e0811a1, 0xf7537e82, 0xbd3af235, 0x2ad7d2bb, 0xeb86d391};

constexpr int kShifts[4][4] = {{7, 12, 17, 22}, {5, 9, 14, 20}, {4, 11, 16, 23}, {6, 10, 15, 21}};

using Digest = std::array<std::uint32_t, 4>;

void add_block(Digest& digest, const std::byte* block) {
  auto [a, b, c, d] = digest;
  for (std::uint32_t i = 0; i < 64; ++i) {
    std::uint32_t mixed = 0;
    std::uint32_t word = 0;
    switch (i / 16) {
      case 0:
        mixed = (b & c) | (~b & d);
        word = i;
        break;
      case 1:
        mixed = (d & b) | (~d & c);
        word = 5 * i + 1;
        break;
      case 2:
        mixed = b ^ c ^ d;
        word = 3 * i + 5;
        break;
      default:
        mixed = c ^ (b | ~d);
        word = 7 * i;
        break;
    }
    mixed += a + kSines[i] + load_little_endian<std::uint32_t>(block + 4 * (word % 16));
    a = d;
    d = c;
    c = b;
    b += std::rotl(mixed, kShifts[i / 16][i % 4]);
  }
  digest = {digest[0] + a, digest[1] + b, digest[2] + c, digest[3] + d};
}

std::array<std::byte, 16> md5(std::string text) {
  const std::uint64_t bits = std::uint64_t{8} * text.size();
  text += '\x80';
  while (text.size() % 64 != 56) text += '\0';
  for (int i = 0; i < 8; ++i) text += static_cast<char>(bits >> (8 * i) & 0xff);
  Digest digest = {0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476};
  for (std::size_t i = 0; i < text.size(); i += 64) add_block(digest, as_bytes(text).data() + i);
  std::array<std::byte, 16> bytes{};
  for (std::size_t i = 0; i < digest.size(); ++i) store_little_endian(bytes.data() + 4 * i, digest[i]);
  return bytes;
}

}  // namespace

std::string uuid3_dns(std::string_view name) {
  std::array<std::byte, 16> bytes = md5(std::string(kDnsNamespace).append(name));
  bytes[6] = (bytes[6] & std::byte{0x0f}) | std::byte{0x30};
  bytes[8] = (bytes[8] & std::byte{0x3f}) | std::byte{0x80};
  std::string text;
  for (const std::byte byte : bytes) {
    text += "0123456789abcdef"[std::to_integer<unsigned>(byte >> 4)];
    text += "0123456789abcdef"[std::to_integer<unsigned>(byte & std::byte{0x0f})];
  }
  return text;
}

}  // namespace opdump::tool
