#pragma once
#include <cstddef>
#include <cstdint>

#include "opdump/base/bytes.hpp"
#include "opdump/base/crc32.hpp"

#if defined(__ARM_FEATURE_CRC32)
#include <arm_acle.h>
#endif

/// CRC-32C (Castagnoli), the checksum of iSCSI. Source: RFC 3720, section 12.1 and appendix B.4.

namespace opdump {
inline namespace OPDUMP_NAMESPACE {

/// Continues `crc`, the CRC-32C of the bytes so far (0 for none), with the `bytes` bytes at `at`.
using Crc32cKernel = std::uint32_t (*)(std::uint32_t crc, const std::byte* at, std::size_t bytes);

/// The kernel of every processor: by the processor's own instructions where the compiler may use them, else
/// by the port's unit, else by tables of OPDUMP_CRC_TABLE_BYTES.
inline std::uint32_t crc32c(std::uint32_t crc, const std::byte* at, std::size_t bytes) {
#if defined(__ARM_FEATURE_CRC32)
  crc = ~crc;
  for (; bytes >= 8; bytes -= 8, at += 8) crc = __crc32cd(crc, load_little_endian<std::uint64_t>(at));
  for (; bytes != 0; --bytes, ++at) crc = __crc32cb(crc, std::to_integer<std::uint8_t>(*at));
  return ~crc;
#elif defined(__SSE4_2__) && defined(__x86_64__)
  std::uint64_t sum = static_cast<std::uint32_t>(~crc);
  for (; bytes >= 8; bytes -= 8, at += 8)
    sum = __builtin_ia32_crc32di(sum, load_little_endian<std::uint64_t>(at));
  std::uint32_t rest = static_cast<std::uint32_t>(sum);
  for (; bytes != 0; --bytes, ++at) rest = __builtin_ia32_crc32qi(rest, std::to_integer<std::uint8_t>(*at));
  return ~rest;
#else
  return update_crc<kCrc32cPolynomial>(crc, at, bytes);
#endif
}

/// The fastest kernel that the processor can run. In the library, not in the headers.
Crc32cKernel crc32c_kernel();

/// The CRC-32C of bytes that come in pieces.
class Crc32c {
 public:
  static constexpr std::size_t kBytes = 4;

  explicit Crc32c(Crc32cKernel kernel = crc32c) : kernel_(kernel) {}

  void add(Bytes bytes) { crc_ = kernel_(crc_, bytes.data(), bytes.size()); }

  /// Writes the digest of what was added, the low byte first.
  void finish(std::byte (&to)[kBytes]) { store_little_endian(to, crc_); }

 private:
  Crc32cKernel kernel_;
  std::uint32_t crc_ = 0;
};

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump
