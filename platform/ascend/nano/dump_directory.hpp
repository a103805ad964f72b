#pragma once
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "platform/ascend/nano/path_clock.hpp"

namespace opdump::nano {
inline namespace OPDUMP_NAMESPACE {

/// The directory that a load message names, taken apart.
struct DumpDirectory {
  std::string_view root{};  ///< what the config calls `dump_path`
  std::uint64_t time = 0;   ///< YYYYMMDDHHMMSS; 0: the directory does not end with time and device
  std::uint32_t device_id = 0;
};

/// Takes `directory` apart, `{root}/{YYYYMMDDHHMMSS}/{device}/`. One of another form is a root as it is.
constexpr DumpDirectory parse_directory(std::string_view directory) {
  const auto without_slash = [](std::string_view text) {
    while (text.size() > 1 && text.ends_with('/')) text.remove_suffix(1);
    return text.empty() ? std::string_view(".") : text;
  };
  const auto take_number = [](std::string_view& text, std::size_t most_digits) {
    std::uint64_t number = 0;
    std::uint64_t base = 1;
    std::size_t digits = 0;
    if (text.ends_with('/')) text.remove_suffix(1);
    for (; !text.empty() && text.back() >= '0' && text.back() <= '9' && digits < most_digits; ++digits) {
      number += base * static_cast<std::uint64_t>(text.back() - '0');
      base *= 10;
      text.remove_suffix(1);
    }
    const bool whole = digits != 0 && (text.empty() || text.ends_with('/'));
    return whole ? number : UINT64_MAX;
  };
  std::string_view rest = directory;
  const std::uint64_t device = take_number(rest, 9);
  const std::uint64_t time = device == UINT64_MAX ? UINT64_MAX : take_number(rest, 14);
  if (time == UINT64_MAX || unix_seconds_of(time) == 0) return {.root = without_slash(directory)};
  return {.root = without_slash(rest), .time = time, .device_id = static_cast<std::uint32_t>(device)};
}

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::nano
