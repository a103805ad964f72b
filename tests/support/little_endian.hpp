#pragma once
#include <cstring>
#include <vector>

#include "opdump/port/device_copy.hpp"

namespace opdump::tests {

/// The elements of `dtype` at `data` as a dump has them, or the other way round.
inline std::vector<std::byte> little_endian(const void* data, std::size_t bytes, DType dtype) {
  std::vector<std::byte> copy(bytes);
  std::memcpy(copy.data(), data, bytes);
  to_little_endian(copy, dtype);
  return copy;
}

}  // namespace opdump::tests
