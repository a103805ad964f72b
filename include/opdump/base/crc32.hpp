#pragma once
#include <array>
#include <cstddef>
#include <cstdint>

#include "opdump/base/build.hpp"
#include "opdump/base/bytes.hpp"

/// Defined by a port that has a unit for CRCs, see OPDUMP_CRC_UNIT: continues `crc`, the reflected CRC of the bytes so
/// far (0 for none), with the `bytes` bytes at `at`, by `polynomial`, its low bit first: 0xEDB88320 for CRC-32,
/// 0x82F63B78 for CRC-32C. `crc` goes in and comes out inverted, as zlib has it. Called by recorders and by the drain,
/// so a port where one may interrupt the other guards its unit. A unit that computes another one is found out:
/// mounting a log and `BasicSession::init` then return `driver_failed`.
extern "C" std::uint32_t opdump_crc_unit(std::uint32_t polynomial, std::uint32_t crc, const void* at,
                                         std::size_t bytes);

namespace opdump {
inline namespace OPDUMP_NAMESPACE {

/// The CRC-32 of IEEE 802.3 (reflected, polynomial 0xEDB88320), as zlib computes it, or that of another
/// reflected polynomial. Each table size is a type of its own, so that translation units that disagree about
/// OPDUMP_CRC_TABLE_BYTES do not share a function. 0: no table, one bit at a time, the least code.
template <std::size_t TableBytes, std::uint32_t kPolynomial = 0xedb88320u>
class Crc32 {
  static_assert(TableBytes == 0 || TableBytes == 64 || TableBytes == 1024 || TableBytes == 8192,
                "OPDUMP_CRC_TABLE_BYTES is 64, 1024 or 8192");

 public:
  /// Continues `crc`, the CRC of the bytes so far (0 for none), with the `left` bytes at `at`.
  static constexpr std::uint32_t update(std::uint32_t crc, const std::byte* at, std::size_t left) {
    crc = ~crc;
    if constexpr (TableBytes == 8192) {
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

inline constexpr std::uint32_t kCrc32Polynomial = 0xedb88320;
inline constexpr std::uint32_t kCrc32cPolynomial = 0x82f63b78;

constexpr bool has_crc_unit(std::uint32_t polynomial) {
  return (polynomial == kCrc32Polynomial && (build::kCrcUnit & 1) != 0) ||
         (polynomial == kCrc32cPolynomial && (build::kCrcUnit & 2) != 0);
}

/// By the port's unit, or by a table of `kTableBytes`.
template <std::uint32_t kPolynomial, std::size_t kTableBytes = OPDUMP_CRC_TABLE_BYTES>
std::uint32_t update_crc(std::uint32_t crc, const std::byte* at, std::size_t left) {
  if constexpr (has_crc_unit(kPolynomial)) return opdump_crc_unit(kPolynomial, crc, at, left);
  return Crc32<kTableBytes, kPolynomial>::update(crc, at, left);
}

template <std::uint32_t kPolynomial>
bool crc_unit_has() {
  alignas(4) constexpr std::byte kBytes[] = {std::byte{1}, std::byte{0}, std::byte{0x80}, std::byte{0xff},
                                             std::byte{2}};
  const std::uint32_t begun = update_crc<kPolynomial>(0, kBytes, 2);  // in pieces, at odd addresses
  return update_crc<kPolynomial>(update_crc<kPolynomial>(begun, kBytes + 2, 1), kBytes + 3, 2) ==
         Crc32<0, kPolynomial>::update(0, kBytes, sizeof kBytes);
}

/// Whether the port's unit, if the build has one, computes what OPDUMP_CRC_UNIT says. Asked where a log is mounted or a
/// session is initialised: what another polynomial made would read as damage, and a log be written over.
inline bool crc_unit_works() {
  return (!has_crc_unit(kCrc32Polynomial) || crc_unit_has<kCrc32Polynomial>()) &&
         (!has_crc_unit(kCrc32cPolynomial) || crc_unit_has<kCrc32cPolynomial>());
}

inline std::uint32_t crc32(std::uint32_t crc, Bytes bytes) {
  return update_crc<kCrc32Polynomial>(crc, bytes.data(), bytes.size());
}

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump
