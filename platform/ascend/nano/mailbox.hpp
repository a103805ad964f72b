#pragma once
#include <cstddef>
#include <cstdint>

#include "opdump/base/bytes.hpp"

/// What the hardware of a nano device puts in its dump mailbox when a task with a dump flag has run: 40
/// bytes, little endian. Addresses have 40 bits.
///
///     at 0   u16 stream of the memory management unit, not of the model
///        2   u16 flags
///        4   u16 task
///        6   u8 model, u8
///        8   u16 block, u16 blocks
///        12  u32 low bits of: code, parameters, table of inputs and outputs, weights, workspace
///        32  u8 high bits of the same five, 3 bytes
///
/// Source: the vendor's driver header.

namespace opdump::nano {
inline namespace OPDUMP_NAMESPACE {

inline constexpr std::size_t kMailboxBytes = 40;

struct Mailbox {
  std::uint16_t task_id = 0;
  std::uint8_t model_id = 0;
  std::uint64_t io_table = 0;  ///< address of a table of addresses, 8 bytes each
  std::uint64_t weights = 0;
  std::uint64_t workspace = 0;
};

inline Mailbox read_mailbox(const std::byte* at) {
  const auto address = [at](std::size_t which) {
    return std::to_integer<std::uint64_t>(at[32 + which]) << 32 |
           load_little_endian<std::uint32_t>(at + 12 + 4 * which);
  };
  return {.task_id = load_little_endian<std::uint16_t>(at + 4),
          .model_id = std::to_integer<std::uint8_t>(at[6]),
          .io_table = address(2),
          .weights = address(3),
          .workspace = address(4)};
}

/// Writes kMailboxBytes, for simulations; what `mailbox` lacks is 0.
inline void write_mailbox(std::byte* to, const Mailbox& mailbox) {
  for (std::size_t i = 0; i < kMailboxBytes; ++i) to[i] = std::byte{0};
  const auto put = [to](std::size_t which, std::uint64_t address) {
    store_little_endian(to + 12 + 4 * which, static_cast<std::uint32_t>(address));
    to[32 + which] = static_cast<std::byte>(static_cast<std::uint8_t>(address >> 32));
  };
  store_little_endian(to + 4, mailbox.task_id);
  to[6] = static_cast<std::byte>(mailbox.model_id);
  put(2, mailbox.io_table);
  put(3, mailbox.weights);
  put(4, mailbox.workspace);
}

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::nano
