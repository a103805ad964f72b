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
