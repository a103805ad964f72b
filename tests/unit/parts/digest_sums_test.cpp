#include <dlfcn.h>
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

#include "opdump/base/crc32c.hpp"
#include "opdump/base/xxh3.hpp"

using namespace opdump;

namespace {

std::vector<std::byte> noise(std::size_t count) {
  std::vector<std::byte> bytes(count);
  std::uint32_t state = 1;
  for (std::byte& byte : bytes) {
    state = state * 1664525 + 1013904223;
    byte = static_cast<std::byte>(state >> 24);
  }
  return bytes;
}

std::uint32_t bit_by_bit(Bytes bytes) {
  std::uint32_t crc = 0xffffffff;
  for (const std::byte byte : bytes) {
    crc ^= std::to_integer<std::uint32_t>(byte);
    for (int bit = 0; bit < 8; ++bit) crc = (crc & 1) != 0 ? crc >> 1 ^ 0x82f63b78 : crc >> 1;
  }
  return ~crc;
}

template <class Digest>
std::uint64_t in_pieces(Digest digest, Bytes bytes, std::size_t piece) {
  for (; !bytes.empty(); bytes = bytes.subspan(std::min(piece, bytes.size())))
    digest.add(bytes.first(std::min(piece, bytes.size())));
  std::byte result[Digest::kBytes];
  digest.finish(result);
  std::uint64_t value = 0;
  for (std::size_t i = Digest::kBytes; i-- != 0;)
    value = value << 8 | std::to_integer<std::uint64_t>(result[i]);
  return value;
}

constexpr std::size_t kPieces[] = {1, 7, 64, 255, 256, 257, 1000, 100000};

}  // namespace

TEST_CASE("digests: CRC-32C is that of RFC 3720, appendix B.4") {
  std::vector<std::byte> bytes(32);
  for (const Crc32cKernel kernel : {&crc32c, crc32c_kernel()}) {
    const auto of = [kernel](const std::vector<std::byte>& all) { return kernel(0, all.data(), all.size()); };
    std::fill(bytes.begin(), bytes.end(), std::byte{0});
    CHECK(of(bytes) == 0x8a9136aa);
    std::fill(bytes.begin(), bytes.end(), std::byte{0xff});
    CHECK(of(bytes) == 0x62a8ab43);
    for (std::size_t i = 0; i < 32; ++i) bytes[i] = static_cast<std::byte>(i);
    CHECK(of(bytes) == 0x46dd794e);
    std::reverse(bytes.begin(), bytes.end());
    CHECK(of(bytes) == 0x113fdb5c);
    std::vector<std::byte> command(48);  // an iSCSI read
    command[0] = std::byte{0x01};
    command[1] = std::byte{0xc0};
    command[16] = command[20] = command[32] = std::byte{0x14};
    command[20] = std::byte{0};
    command[22] = std::byte{0x04};
    command[23] = std::byte{0};
    command[27] = std::byte{0x14};
    command[31] = std::byte{0x18};
    command[32] = std::byte{0x28};
    command[40] = std::byte{0x02};
    CHECK(of(command) == 0xd9963a56);
  }
}

TEST_CASE("digests: every kernel of CRC-32C equals the sum bit by bit, at any length and address") {
  const std::vector<std::byte> all = noise(20000);
  for (std::size_t bytes = 0; bytes < all.size(); bytes = bytes < 100 ? bytes + 1 : bytes * 5 / 4) {
    CAPTURE(bytes);
    const std::size_t from = bytes % 8 < all.size() - bytes ? bytes % 8 : 0;
    const Bytes part = Bytes(all).subspan(from, bytes);
    const std::uint32_t expected = bit_by_bit(part);
    CHECK(Crc32<0, kCrc32cPolynomial>::update(0, part.data(), bytes) == expected);
    CHECK(Crc32<64, kCrc32cPolynomial>::update(0, part.data(), bytes) == expected);
    CHECK(Crc32<8192, kCrc32cPolynomial>::update(0, part.data(), bytes) == expected);
    for (const std::size_t piece : kPieces) {
      CHECK(in_pieces(Crc32c(), part, piece) == expected);
      CHECK(in_pieces(Crc32c(crc32c_kernel()), part, piece) == expected);
    }
  }
}

TEST_CASE("digests: XXH3 equals what libxxhash 0.8.1 makes of the same bytes") {
  struct Known {
    std::size_t bytes;
    std::uint64_t hash;
  };
  constexpr Known kKnown[] = {
      {0, 0x2d06800538d394c2},    {1, 0x429e81bc6744101c},    {2, 0xa65771cbfd464c2d},
      {3, 0x32dbb5c7774cc94f},    {4, 0x65775238ca34c06f},    {5, 0xd3bdebb681920cdf},
      {8, 0x90b760c9d253d0ff},    {9, 0x15ae9f843bb50ea4},    {12, 0x8b715eccbb8c022c},
      {16, 0x372c92fa68129c98},   {17, 0xb5d6b9c1898bd9d6},   {32, 0x0ab1dbf9e9f8c22c},
      {33, 0x4f4ae280e8465c3c},   {64, 0x84fcac4cce9f990d},   {65, 0x2c9f18dff914a8bd},
      {96, 0xe1e1ba1b4e47ded7},   {97, 0x5cc877781800cb6b},   {128, 0xc59e505a97d029e0},
      {129, 0xf9e651a476d6d3ca},  {144, 0x6630fc8e0296f27f},  {200, 0x85d691776ef97dbe},
      {240, 0x967597e635f3c527},  {241, 0xd6afac6f8fa85b01},  {255, 0x22062a421972fdde},
      {256, 0x9e6593bab96413da},  {257, 0xc7f456fff4eaca08},  {300, 0x85cda8a8f5619a09},
      {319, 0x3983c8bf8dce5816},  {320, 0xc728c9e2ed449218},  {321, 0xf69dc1717f6a541b},
      {511, 0xf8e3fbcf89733a1a},  {512, 0x426b67e0356d303d},  {513, 0xb757ecc047a39809},
      {1023, 0x120a0457e3e899f6}, {1024, 0xbb9f0c3761cdfd54}, {1025, 0x95edccc1adc4d895},
      {1088, 0xe8391a3978cbcf06}, {2048, 0x278f7a6a39416b51}, {4096, 0x436f521f6688c5ed},
      {5000, 0x06983d4ce0939f36}};
  const std::vector<std::byte> all = noise(5000);
  for (const Known& known : kKnown) {
    CAPTURE(known.bytes);
    for (const std::size_t piece : kPieces)
      CHECK(in_pieces(Xxh3(), Bytes(all).first(known.bytes), piece) == known.hash);
  }
}

TEST_CASE("digests: XXH3 equals that of libxxhash at every length, where it is installed") {
  void* const library = dlopen("libxxhash.so.0", RTLD_NOW);
  if (library == nullptr) return;
  const auto reference =
      reinterpret_cast<std::uint64_t (*)(const void*, std::size_t)>(dlsym(library, "XXH3_64bits"));
  REQUIRE(dlsym(library, "XXH3_64bits") != nullptr);
  const std::vector<std::byte> all = noise(2200);
  for (std::size_t bytes = 0; bytes <= all.size(); ++bytes) {
    CAPTURE(bytes);
    const std::size_t piece = kPieces[bytes % std::size(kPieces)];
    REQUIRE(in_pieces(Xxh3(), Bytes(all).first(bytes), piece) == reference(all.data(), bytes));
  }
  dlclose(library);
}
