#pragma once
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace opdump::tool {

/// Rows of cells, printed to stdout with their columns aligned.
class Table {
 public:
  /// A column whose letter in `alignment` is 'r' is aligned to the right, every other to the left.
  Table(std::string_view indent, std::string_view alignment) : indent_(indent), alignment_(alignment) {}

  void add(std::vector<std::string> row);

  /// A line between the rows that keeps to no column.
  void add_line(std::string line);

  /// Prints the rows and forgets them.
  void print();

 private:
  std::string_view indent_;
  std::string_view alignment_;
  struct Row {
    std::vector<std::string> cells;
    bool is_line = false;
  };
  std::vector<Row> rows_;
  std::vector<std::size_t> widths_;
};

/// Columns of the terminal that stdout is, 0 when it is none.
std::size_t terminal_width();

/// `text` in at most `width` columns: its middle becomes "..." when it is longer.
std::string shortened(const std::string& text, std::size_t width);

/// Columns that `text` takes, with UTF-8 characters counted as one each.
std::size_t display_width(std::string_view text);

}  // namespace opdump::tool
