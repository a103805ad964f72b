#pragma once
#include <cstdint>
#include <optional>
#include <string_view>

namespace opdump::tool {

inline bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

/// Reads all of `text` as a decimal number without sign; nothing for other texts and for numbers beyond 64
/// bits.
std::optional<std::uint64_t> parse_decimal(std::string_view text);

}  // namespace opdump::tool
