#pragma once
#include <cstdint>
#include <optional>
#include <string_view>

namespace opdump::tool {

inline bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

/// Reads all of `text` as a decimal number without sign; nothing for other texts and for numbers beyond 64 bits.
std::optional<std::uint64_t> parse_decimal(std::string_view text);

/// Reads "4096", "16K", "8M", "1G" or "2T", with K = 1024 bytes and so on; nothing for other texts and for
/// sizes beyond 64 bits.
std::optional<std::uint64_t> parse_byte_size(std::string_view text);

}  // namespace opdump::tool
