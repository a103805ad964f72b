#include "src/tool/cli/messages.hpp"

#include <sys/ioctl.h>
#include <unistd.h>
#include <algorithm>
#include <cstdio>
#include <utility>

#include "src/config/text/display_text.hpp"
#include "src/config/text/human_text.hpp"

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

std::size_t terminal_width() {
  winsize size{};
  return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

void Table::measure(std::vector<std::string>& row) {
  if (widths_.size() < row.size()) widths_.resize(row.size());
  for (std::string& cell : row) cell = printable(cell);
  for (std::size_t i = 0; i < row.size(); ++i) widths_[i] = std::max(widths_[i], display_width(row[i]));
}

void Table::add(std::vector<std::string> row) {
  measure(row);
  rows_.push_back({std::move(row)});
}

void Table::add_line(std::string line) {
  rows_.push_back({{printable(line)}, true});
}

std::string Table::line_of(const std::vector<std::string>& row) const {
  std::string line(indent_);
  for (std::size_t i = 0; i < row.size(); ++i) {
    const std::string gap(widths_[i] - display_width(row[i]), ' ');
    const bool right = i < alignment_.size() && alignment_[i] == 'r';
    if (i != 0 && widths_[i] != 0) line += "  ";
    line += right ? gap + row[i] : row[i] + gap;
  }
  line.erase(line.find_last_not_of(' ') + 1);
  return line;
}

void Table::print() {
  for (const auto& [row, is_line] : rows_)
    std::puts((is_line ? std::string(indent_) + row[0] : line_of(row)).c_str());
  rows_.clear();
  widths_.clear();
}

}  // namespace opdump::tool
