#include "src/tool/cli/decimal.hpp"

#include <charconv>

namespace opdump::tool {

std::optional<std::uint64_t> parse_decimal(std::string_view text) {
  std::uint64_t value = 0;
  if (text.empty() || !is_digit(text[0])) return std::nullopt;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<std::uint64_t> parse_byte_size(std::string_view text) {
  constexpr std::string_view kSuffixes = "KMGT";
  std::uint64_t unit = 1;
  if (const std::size_t suffix = kSuffixes.find(text.empty() ? ' ' : text.back()); suffix != text.npos) {
    unit = std::uint64_t{1} << 10 * (suffix + 1);
    text.remove_suffix(1);
  }
  const std::optional<std::uint64_t> number = parse_decimal(text);
  if (!number || *number > UINT64_MAX / unit) return std::nullopt;
  return *number * unit;
}

}  // namespace opdump::tool
