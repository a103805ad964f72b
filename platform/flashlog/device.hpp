#pragma once
#include <cstddef>
#include <cstdint>

#include "opdump/base/bytes.hpp"
#include "opdump/base/status.hpp"

namespace opdump::flashlog {
inline namespace OPDUMP_NAMESPACE {

/// What a flash part, or the part of it that the log may use, looks like. Blocks are counted from 0.
struct Geometry {
  std::uint32_t block_bytes = 0;    ///< erased at once; a multiple of the log's page
  std::uint32_t block_count = 0;    ///< 3 to 65535
  std::uint32_t program_bytes = 1;  ///< 1 to 4096: programs begin and end at multiples of it
  std::byte erased{0xff};           ///< what an erased byte reads as: 0xff or 0x00
  /// True: programming can only take bits away from the erased value and leaves the others as they are, so
  /// what was left erased may be programmed later (NOR flash). False: what was programmed once is not
  /// programmed again before the next erase (NAND, flash with ECC, block devices).
  bool bits_only_clear = false;
};

/// Whether a log can work with `part` at all.
constexpr bool is_usable(const Geometry& part) {
  return part.program_bytes >= 1 && part.program_bytes <= 4096 && part.block_bytes >= 256 &&
         part.block_bytes % part.program_bytes == 0 && part.block_count >= 3 && part.block_count <= 0xffff &&
         (part.erased == std::byte{0xff} || part.erased == std::byte{0});
}

/// A flash device: its geometry and the port's four functions. They are called by one context at a time,
/// that of the log, and never from an interrupt but by `FlashLog::emergency`. Any status but `ok` is a
/// failure; after a failed program or erase the log gives the block up.
struct Device {
  Geometry geometry;
  void* context = nullptr;  ///< handed to each function

  /// Reads `to.size()` bytes of one block, at any offset.
  Status (*read)(void* context, std::uint32_t block, std::uint32_t offset, MutableBytes to) = nullptr;

  /// Programs erased bytes of one block; offset and size are multiples of `program_bytes`, and the bytes never cross
  /// a multiple of the log's page; in memory they begin at any address. Returns when the part is ready again or has
  /// failed. For `FlashLog::emergency` it must work with interrupts off: polled, without locks.
  Status (*program)(void* context, std::uint32_t block, std::uint32_t offset, Bytes from) = nullptr;

  /// Erases one block.
  Status (*erase)(void* context, std::uint32_t block) = nullptr;

  /// Returns when all that was programmed and erased would survive a loss of power.
  Status (*sync)(void* context) = nullptr;

  /// For parts with a write protection, else null: takes it off before each program and erase, and puts it
  /// back after it.
  void (*protect)(void* context, bool on) = nullptr;
};

inline constexpr Device kNoDevice{};

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::flashlog
