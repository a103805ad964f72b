#pragma once
#include <algorithm>
#include <cstdint>

#include "opdump/types/config.hpp"
#include "platform/posix/impl/free_bytes.hpp"

namespace opdump::posix {
inline namespace OPDUMP_NAMESPACE {

/// Bytes that the file system and the config's limits leave to dumps; 0: not known.
inline std::uint64_t room_for(const DumpConfig& config) {
  const std::uint64_t free = free_bytes(config.dump_path);
  const std::uint64_t reserve = config.options.reserve_bytes;
  const std::uint64_t room = free > reserve ? free - reserve : 0;
  return config.options.max_bytes == 0 ? room : std::min(room, config.options.max_bytes);
}

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::posix
