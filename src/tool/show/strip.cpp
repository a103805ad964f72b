#include "src/tool/show/strip.hpp"

#include <stdlib.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string_view>

#include "src/tool/cli/table.hpp"

namespace opdump::tool {
namespace {

/// From dark to light, as the numbers of a terminal's 256 colours; they differ in lightness too.
constexpr int kColours[kStripLevels] = {54, 60, 61, 31, 37, 72, 113, 227};
constexpr int kAlarmColour = 196;

std::string coloured(const std::string& text, int colour) {
  return "\033[38;5;" + std::to_string(colour) + 'm' + text + "\033[0m";
}

}  // namespace

StripStyle strip_style() {
  const char* const terminal = getenv("TERM");
  const char* const no_colour = getenv("NO_COLOR");
  StripStyle style;
  style.width = terminal_width();
  style.blocks = style.width != 0 && terminal != nullptr && std::string_view(terminal) != "dumb";
  style.colours = style.blocks && (no_colour == nullptr || *no_colour == '\0');
  return style;
}

int strip_level(double value, double low, double high) {
  if (!(high > low)) return 0;
  // By halves, so that the difference of great numbers is finite.
  const double part = (value / 2 - low / 2) / (high / 2 - low / 2);
  return std::clamp(static_cast<int>(part * kStripLevels), 0, kStripLevels - 1);
}

std::string strip_cell(int level, const StripStyle& style) {
  constexpr const char* kBlocks[kStripLevels] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  if (!style.blocks) return std::string(1, static_cast<char>('a' + level));
  return style.colours ? coloured(kBlocks[level], kColours[level]) : kBlocks[level];
}

std::string strip_alarm(const StripStyle& style) {
  return style.colours ? coloured("!", kAlarmColour) : "!";
}

std::string sparkline(std::span<const std::optional<double>> values, const StripStyle& style) {
  double low = std::numeric_limits<double>::infinity(), high = -low;
  for (const std::optional<double>& value : values) {
    if (!value || !std::isfinite(*value)) continue;
    low = std::min(low, *value);
    high = std::max(high, *value);
  }
  std::string text;
  for (const std::optional<double>& value : values) {
    text += !value                   ? " "
            : !std::isfinite(*value) ? strip_alarm(style)
                                     : strip_cell(strip_level(*value, low, high), style);
  }
  return text;
}

}  // namespace opdump::tool
