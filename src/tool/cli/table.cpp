#include "src/tool/cli/table.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <utility>

namespace opdump::tool {
std::size_t terminal_width() {
  winsize size{};
  return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

void Table::add(std::vector<std::string> row) {
  if (widths_.size() < row.size()) widths_.resize(row.size());
  for (std::string& cell : row) cell = printable(cell);
  for (std::size_t i = 0; i < row.size(); ++i) widths_[i] = std::max(widths_[i], display_width(row[i]));
  rows_.push_back({std::move(row)});
}

void Table::add_line(std::string line) {
  rows_.push_back({{printable(line)}, true});
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
