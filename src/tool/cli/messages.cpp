#include "src/tool/cli/messages.hpp"

#include <algorithm>
#include <cstdio>

#include "src/config/text/display_text.hpp"
#include "src/config/text/human_text.hpp"
#include "src/tool/cli/table.hpp"

namespace opdump::tool {

void say(std::string_view message) {
  std::fflush(stdout);
  std::fprintf(stderr, "%s\n", printable(message).c_str());
}

void print_line(std::string_view line) {
  std::puts(printable(line).c_str());
}

namespace {

constexpr std::size_t kBefore = 60;
constexpr std::size_t kAfter = 40;

bool continues_a_character(char c) {
  return (static_cast<unsigned char>(c) & 0xc0) == 0x80;
}

}  // namespace

std::string refused_line(std::string_view text, const ConfigError& error) {
  if (error.fault == ConfigFault::unreadable || text.empty()) return {};
  const std::size_t at = std::min(error.offset, text.size());
  const std::size_t line_begin = at - std::min<std::size_t>(at, error.column - 1);
  const std::size_t line_end = std::min(text.find('\n', at), text.size());

  std::size_t begin = std::max(line_begin, at - std::min(at, kBefore));
  while (begin < at && continues_a_character(text[begin])) ++begin;
  std::size_t end = std::min(line_end, at + kAfter);
  while (end < line_end && continues_a_character(text[end])) ++end;
  const std::string before = (begin > line_begin ? "..." : "") + printable(text.substr(begin, at - begin));
  const std::string after = printable(text.substr(at, end - at)) + (end < line_end ? "..." : "");

  const std::string number = std::to_string(error.line);
  return "  " + number + " | " + before + after + "\n  " + std::string(number.size(), ' ') + " | " +
         std::string(display_width(before), ' ') + "^\n";
}

}  // namespace opdump::tool
