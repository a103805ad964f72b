#pragma once
#include <cstdint>
#include <string>

#include "opdump/base/bytes.hpp"

namespace opdump::tool {

/// Makes base64 of bytes that come in pieces of any size. Source: RFC 4648.
class Base64 {
 public:
  /// The letters of all groups of 3 bytes that are whole now.
  std::string add(Bytes bytes);

  /// Those of what is left over, with their padding.
  std::string finish();

 private:
  void put(std::string& text, unsigned letters);

  std::uint32_t bits_ = 0;
  unsigned held_ = 0;  ///< bytes in `bits_`, fewer than 3
};

std::string base64(Bytes bytes);

}  // namespace opdump::tool
