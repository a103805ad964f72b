#pragma once
#include <bit>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "opdump/knobs.hpp"

namespace opdump::config {
inline namespace OPDUMP_NAMESPACE {

/// Eight bytes of a text at a time, for scans that look for rare bytes.
using ByteWord = std::uint64_t;

inline ByteWord load_word(const char* text) {
  ByteWord word;
  std::memcpy(&word, text, sizeof word);
  return word;
}

/// A word of eight times the byte `c`.
constexpr ByteWord eight_times(char c) {
  return ByteWord{0x0101010101010101} * static_cast<unsigned char>(c);
}

/// Not zero when a byte of `word` is zero; then the lowest bit set is the highest bit of the lowest zero byte.
constexpr ByteWord zero_bytes(ByteWord word) {
  return (word - eight_times(1)) & ~word & eight_times('\x80');
}

/// The first quotation mark or backslash of `text` from `at` on; the size of `text` when there is none.
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
