#include "src/tool/cli/byte_size.hpp"

#include "src/tool/cli/decimal.hpp"

namespace opdump::tool {

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
