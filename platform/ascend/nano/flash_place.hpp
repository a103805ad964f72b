#pragma once
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "platform/flashlog/device.hpp"

namespace opdump::nano {
inline namespace OPDUMP_NAMESPACE {

/// A flash part as the environment names it: `{path}:{bytes of a block}:{blocks}[:{bytes of a program}]`.
struct FlashPlace {
  std::string_view path{};
  flashlog::Geometry part{};
  std::uint32_t page_bytes = 0;  ///< for the log
};

/// False when `text` has another form, or names a part that no log works with.
constexpr bool parse_flash_place(std::string_view text, FlashPlace& place) {
  std::uint32_t numbers[3] = {0, 0, 0};
  std::size_t count = 0;
  std::string_view rest = text;
  for (; count < 3; ++count) {
    const std::size_t colon = rest.rfind(':');
    if (colon == std::string_view::npos || colon + 1 == rest.size() || rest.size() - colon > 10) break;
    std::uint32_t number = 0;
    bool digits = true;
    for (const char c : rest.substr(colon + 1)) {
      digits = digits && c >= '0' && c <= '9';
      number = number * 10 + static_cast<std::uint32_t>(c - '0');
    }
    if (!digits) break;
    numbers[count] = number;
    rest = rest.substr(0, colon);
  }
  if (count < 2 || rest.empty()) return false;
  place.path = rest;
  place.part = {.block_bytes = numbers[count - 1],
                .block_count = numbers[count - 2],
                .program_bytes = count == 3 ? numbers[0] : 1};
  const flashlog::Geometry& part = place.part;
  if (!is_usable(part)) return false;
  // Of a log's page, a block has at least four.
  constexpr std::uint32_t kLeastPage = 128;
  place.page_bytes = 4096;
  while (place.page_bytes > kLeastPage &&
         (part.block_bytes % place.page_bytes != 0 || part.block_bytes / 4 < place.page_bytes))
    place.page_bytes /= 2;
  return part.block_bytes % place.page_bytes == 0 && part.block_bytes / 2 >= place.page_bytes &&
         place.page_bytes % part.program_bytes == 0;
}

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::nano
