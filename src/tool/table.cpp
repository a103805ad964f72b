#include "table.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <utility>

namespace opdump::tool {
namespace {

bool continues_character(char c) {
  return (static_cast<unsigned char>(c) & 0xc0) == 0x80;
}

}  // namespace

std::size_t display_width(std::string_view text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return !continues_character(c); }));
}

std::size_t terminal_width() {
  winsize size{};
  return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

std::string shortened(const std::string& text, std::size_t width) {
  constexpr std::size_t kDots = 3;
  if (display_width(text) <= width || width <= kDots) return text;
  std::size_t front = (width - kDots) / 2;
  std::size_t back = text.size() - (width - kDots - front);
  while (front > 0 && continues_character(text[front])) --front;
  while (back < text.size() && continues_character(text[back])) ++back;
  return text.substr(0, front) + "..." + text.substr(back);
}

void Table::add(std::vector<std::string> row) {
  if (widths_.size() < row.size()) widths_.resize(row.size());
  for (std::size_t i = 0; i < row.size(); ++i) widths_[i] = std::max(widths_[i], display_width(row[i]));
  rows_.push_back({std::move(row)});
}

void Table::add_line(std::string line) {
  rows_.push_back({{std::move(line)}, true});
}

void Table::print() {
  for (const auto& [row, is_line] : rows_) {
    std::string line(indent_);
    if (is_line) {
      std::puts((line + row[0]).c_str());
      continue;
    }
    for (std::size_t i = 0; i < row.size(); ++i) {
      const std::string gap(widths_[i] - display_width(row[i]), ' ');
      const bool right = i < alignment_.size() && alignment_[i] == 'r';
      if (i != 0 && widths_[i] != 0) line += "  ";
      line += right ? gap + row[i] : row[i] + gap;
    }
    line.erase(line.find_last_not_of(' ') + 1);
    std::puts(line.c_str());
  }
  rows_.clear();
  widths_.clear();
}

}  // namespace opdump::tool
