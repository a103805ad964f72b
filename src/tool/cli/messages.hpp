#pragma once
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "opdump/config/parse.hpp"
#include "src/config/text/display_text.hpp"

namespace opdump::tool {

/// Rows of cells, printed to stdout with their columns aligned.
class Table {
 public:
  /// A column whose letter in `alignment` is 'r' is aligned to the right, every other to the left.
  Table(std::string_view indent, std::string_view alignment) : indent_(indent), alignment_(alignment) {}

  // Both make characters that would control a terminal visible.

  void add(std::vector<std::string> row);

  /// Adds a line between the rows that ignores the columns.
  void add_line(std::string line);

  /// Prints the rows and forgets them.
  void print();

 private:
  void measure(std::vector<std::string>& row);
  std::string line_of(const std::vector<std::string>& row) const;

  std::string_view indent_;
  std::string_view alignment_;
  struct Row {
    std::vector<std::string> cells;
    bool is_line = false;
  };
  std::vector<Row> rows_;
  std::vector<std::size_t> widths_;
};

/// Width of the terminal on stdout; 0: stdout is not a terminal.
std::size_t terminal_width();

/// Writes one line to stderr, after everything written to stdout so far. Every message of every command goes
/// through here: characters that would control a terminal, which names in a dump may hold, are made visible.
void say(std::string_view message);

/// As `say`, one line on stdout.
void print_line(std::string_view line);

/// The line of `text` that `error` points into, cut to about a screen's width, and a caret below the place:
/// two lines, as compilers print them. Empty when there is no such line.
std::string refused_line(std::string_view text, const ConfigError& error);

}  // namespace opdump::tool
