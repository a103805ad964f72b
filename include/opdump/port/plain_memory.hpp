#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "opdump/base/bytes.hpp"
#include "opdump/base/status.hpp"
#include "opdump/types/tensor.hpp"

namespace opdump {
inline namespace OPDUMP_NAMESPACE {

/// Copies from memory that the CPU reads: `from` is a result of `address_of`. `device_copy_failed` for a null
/// address with bytes to copy.
[[nodiscard, gnu::always_inline]] inline Status copy_plain(std::byte* to, Address from, std::size_t bytes) {
  if (bytes == 0) return Status::ok;
  if (from == 0) return Status::device_copy_failed;
  std::memcpy(to, reinterpret_cast<const void*>(static_cast<std::uintptr_t>(from)), bytes);
  return Status::ok;
}

/// The same bytes in place; empty for a null address.
[[gnu::always_inline]] inline Bytes view_plain(Address from, std::uint64_t bytes) {
  if (from == 0) return {};
  return {reinterpret_cast<const std::byte*>(static_cast<std::uintptr_t>(from)),
          static_cast<std::size_t>(bytes)};
}

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump
