#pragma once
#include <bit>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "opdump/knobs.hpp"

namespace opdump::config {
inline namespace OPDUMP_NAMESPACE {

/// Eight bytes of a text at a time, for scans that look for few of them.
using ByteWord = std::uint64_t;

inline ByteWord load_word(const char* text) {
  ByteWord word;
  std::memcpy(&word, text, sizeof word);
  return word;
}

/// A word of eight times that byte.
constexpr ByteWord eight_times(char c) {
  return ByteWord{0x0101010101010101} * static_cast<unsigned char>(c);
}

/// Not zero when one of the bytes is zero; then the lowest bit set is the highest one of the lowest such
/// byte.
constexpr ByteWord zero_bytes(ByteWord word) {
  return (word - eight_times(1)) & ~word & eight_times('\x80');
}

/// The first quotation mark or backslash of `text` from `at` on; the text's size when there is none.
inline std::size_t find_string_sign(std::string_view text, std::size_t at) {
  for (; text.size() - at >= sizeof(ByteWord); at += sizeof(ByteWord)) {
    const ByteWord word = load_word(text.data() + at);
    const ByteWord found = zero_bytes(word ^ eight_times('"')) | zero_bytes(word ^ eight_times('\\'));
    if (found == 0) continue;
    if constexpr (std::endian::native == std::endian::little)
      return at + static_cast<std::size_t>(std::countr_zero(found)) / 8;
    break;
  }
  while (at < text.size() && text[at] != '"' && text[at] != '\\') ++at;
  return at;
}

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::config
