#pragma once
#include <cstdint>

#include "opdump/status.hpp"

/// The nano dump record, CANN's file format for dumps of its nano devices, byte by byte. Little endian, no
/// padding.
///
///     u64 head_bytes        of what follows up to the first tensor byte
///     u32 magic 0x5A5A5A5A
///     u32 version 0
///     TLV 4: u32 count, then `count` input records
///     TLV 5: u32 count, then `count` output records
///     the tensors' bytes: inputs in order, then outputs in order
///
///     TLV            u32 tag, u32 bytes of the value, value
///     input record   i32 dtype (GE code), i32 format, i32 address kind, u64 address, u64 offset, u64 tensor
///     bytes,
///                    u32 bytes of TLVs, TLVs 0 and 1
///     output record  i32 dtype, i32 format, i32 address kind, i32 original index, i32 original dtype,
///                    i32 original format, u64 address, u64 offset, u64 tensor bytes, u32 bytes of TLVs, TLVs
///                    0, 1, 2
///     TLV 0, 1       shape, original shape: a u64 per dim
///     TLV 2          name of the original operator
///
/// A file is exactly 8 + head_bytes + the sum of the tensors' bytes long. Source: the vendor's reader, its
/// tests' sample made by a device, and its `.dbg` structures.

namespace opdump {
inline namespace OPDUMP_NAMESPACE {

inline constexpr std::uint32_t kNanoMagic = 0x5a5a5a5a;
inline constexpr std::uint32_t kNanoVersion = 0;
inline constexpr std::uint32_t kNanoHeadLengthBytes = 8;
inline constexpr std::uint32_t kNanoTagInputs = 4;
inline constexpr std::uint32_t kNanoTagOutputs = 5;
inline constexpr std::uint32_t kNanoTagShape = 0;
inline constexpr std::uint32_t kNanoTagOriginalShape = 1;
inline constexpr std::uint32_t kNanoTagOriginalName = 2;
inline constexpr std::uint32_t kNanoTlvHeadBytes = 8;
inline constexpr std::uint32_t kNanoListHeadBytes =
    kNanoTlvHeadBytes + 4;  ///< of TLVs 4 and 5, with the count
inline constexpr std::uint32_t kNanoInputBytes = 40;
inline constexpr std::uint32_t kNanoOutputBytes = 52;

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump
