#include "src/tool/wire/wire_options.hpp"

#include <cstdint>

#include "src/tool/cli/decimal.hpp"
#include "src/tool/wire/wire_line.hpp"

namespace opdump::tool {
namespace {

bool read_seconds(const std::optional<std::string>& text, std::chrono::milliseconds& to, std::string& error) {
  if (!text) return true;
  constexpr std::uint64_t kMost = 1000000;
  const std::optional<std::uint64_t> number = parse_decimal(*text);
  if (!number || *number > kMost) {
    error = "'" + *text + "' is no number of seconds";
    return false;
  }
  to = std::chrono::seconds(*number);
  return true;
}

}  // namespace

bool read_line_words(const LineWords& words, unsigned& baud, std::chrono::milliseconds& wait,
                     std::chrono::milliseconds& idle, std::string& error) {
  if (words.baud) {
    const std::optional<std::uint64_t> number = parse_decimal(*words.baud);
    if (!number || *number > 10000000 || !WireLine::has_baud(static_cast<unsigned>(*number))) {
      error = "'" + *words.baud + "' is no rate of a serial line here";
      return false;
    }
    baud = static_cast<unsigned>(*number);
  }
  return read_seconds(words.wait, wait, error) && read_seconds(words.idle, idle, error);
}

}  // namespace opdump::tool
