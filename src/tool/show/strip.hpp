#pragma once
#include <cstddef>
#include <optional>
#include <span>
#include <string>

namespace opdump::tool {

/// How strips of values come to stdout.
struct StripStyle {
  bool blocks = false;    ///< Unicode blocks as high as the value; otherwise letters, from 'a' to 'h'
  bool colours = false;   ///< of a terminal
  std::size_t width = 0;  ///< columns of stdout; 0: it is not a terminal
};

/// Blocks and colours if stdout is a terminal; without colours if the environment has NO_COLOR, and plain if
/// TERM is "dumb".
StripStyle strip_style();

inline constexpr int kStripLevels = 8;

/// From 0 to kStripLevels - 1: where `value` lies between `low` and `high`.
int strip_level(double value, double low, double high);

/// One cell of a strip.
std::string strip_cell(int level, const StripStyle& style);

/// What stands for NaN and infinity.
std::string strip_alarm(const StripStyle& style);

/// A cell for each value, by its place between the least and the greatest; a blank for none.
std::string sparkline(std::span<const std::optional<double>> values, const StripStyle& style);

}  // namespace opdump::tool
