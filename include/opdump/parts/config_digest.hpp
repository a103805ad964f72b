#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "opdump/base/bytes.hpp"
#include "opdump/base/crc32.hpp"
#include "opdump/base/text.hpp"

namespace opdump {
inline namespace OPDUMP_NAMESPACE {

inline constexpr std::size_t kConfigDigestDigits = 8;

/// For Provenance::config: the CRC-32 of a config's bytes, as it is read or as it was compiled, in eight
/// hexadecimal digits in `text`.
inline std::string_view config_digest(Bytes config, std::span<char, kConfigDigestDigits> text) {
  std::uint32_t crc = crc32(0, config);
  for (char& digit : text) {
    digit = hex_digit(crc >> 28);
    crc <<= 4;
  }
  return {text.data(), text.size()};
}

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump
