#pragma once
#include <cstddef>
#include <string>

#include "opdump/base/bytes.hpp"
#include "opdump/base/text.hpp"

namespace opdump::cards {
inline namespace OPDUMP_NAMESPACE {

/// Two small digits for each byte.
inline std::string hexadecimal(Bytes bytes) {
  std::string text(2 * bytes.size(), '\0');
  put_hex(text.data(), bytes);
  return text;
}

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::cards
