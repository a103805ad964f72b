#pragma once
#include <array>
#include <cstddef>
#include <cstdint>

#include "opdump/base/bytes.hpp"

namespace opdump {
inline namespace OPDUMP_NAMESPACE {

/// The CRC-32 of IEEE 802.3 (reflected, polynomial 0xEDB88320), as zlib computes it, or that of another
/// reflected polynomial. Each table size is a type of its own, so that translation units that disagree about
/// OPDUMP_CRC_TABLE_BYTES do not share a function. 0: no table, one bit at a time, the least code.
template <std::size_t TableBytes, std::uint32_t kPolynomial = 0xedb88320u>
class Crc32 {
  static_assert(TableBytes == 0 || TableBytes == 64 || TableBytes == 8192,
                "OPDUMP_CRC_TABLE_BYTES is 64 or 8192");

 public:
  /// Continues `crc`, the CRC of the bytes so far (0 for none), with the `left` bytes at `at`.
  static constexpr std::uint32_t update(std::uint32_t crc, const std::byte* at, std::size_t left) {
    crc = ~crc;
    if constexpr (kBits == 8) {
      for (; left >= 8; left -= 8, at += 8) {
        const std::uint32_t low = load_little_endian<std::uint32_t>(at) ^ crc;
        const std::uint32_t high = load_little_endian<std::uint32_t>(at + 4);
        crc = 0;
        for (unsigned i = 0; i < 4; ++i) {
          crc ^= kTable[(7 - i) * 256 + (low >> (8 * i) & 0xff)];
          crc ^= kTable[(3 - i) * 256 + (high >> (8 * i) & 0xff)];
        }
      }
    }
    for (; left != 0; --left) {
      crc ^= std::to_integer<std::uint32_t>(*at++);
      for (unsigned bits = 0; bits < 8; bits += kBits) crc = crc >> kBits ^ entry(crc % kEntries);
    }
    return ~crc;
  }

 private:
  static constexpr unsigned kBits = TableBytes == 0 ? 1 : TableBytes == 64 ? 4 : 8;
  static constexpr std::size_t kEntries = std::size_t{1} << kBits;

  static constexpr std::uint32_t entry(std::uint32_t i) {
    if constexpr (TableBytes == 0) {
      return kPolynomial & (0u - i);
    } else {
      return kTable[i];
    }
  }

  /// Entry `i` of row `r` is what the bits of `i` add to the CRC once `r` more bytes of zeros have followed.
  static constexpr std::array<std::uint32_t, TableBytes / 4> kTable = [] {
    std::array<std::uint32_t, TableBytes / 4> table{};
    for (std::size_t i = 0; i < table.size(); ++i) {
      std::uint32_t crc = i < kEntries ? static_cast<std::uint32_t>(i) : table[i - kEntries];
      const unsigned bits = i < kEntries ? kBits : 8;
      for (unsigned bit = 0; bit < bits; ++bit) crc = crc >> 1 ^ (crc % 2 != 0 ? kPolynomial : 0);
      table[i] = crc;
    }
    return table;
  }();
};

inline std::uint32_t crc32(std::uint32_t crc, Bytes bytes) {
  return Crc32<OPDUMP_CRC_TABLE_BYTES>::update(crc, bytes.data(), bytes.size());
}

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump
