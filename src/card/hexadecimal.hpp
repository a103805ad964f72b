#pragma once
#include <cstddef>
#include <string>

#include "opdump/base/bytes.hpp"
#include "opdump/knobs.hpp"

namespace opdump::cards {
inline namespace OPDUMP_NAMESPACE {

/// Two small digits for each byte.
inline std::string hexadecimal(Bytes bytes) {
  std::string text;
  for (const std::byte byte : bytes) {
    text += "0123456789abcdef"[std::to_integer<unsigned>(byte >> 4)];
    text += "0123456789abcdef"[std::to_integer<unsigned>(byte & std::byte{0x0f})];
  }
  return text;
}

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::cards
