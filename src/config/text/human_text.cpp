#include "src/config/text/human_text.hpp"

#include <time.h>

#include <array>
#include <cmath>
#include <cstdio>

namespace opdump::tool {

std::string byte_text(std::uint64_t bytes) {
  constexpr std::array<const char*, 6> kUnits = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  if (bytes < 1024) return std::to_string(bytes) + " B";
  double value = static_cast<double>(bytes) / 1024;
  std::size_t unit = 0;
  for (; value >= 1023.95 && unit + 1 < kUnits.size(); ++unit) value /= 1024;
  char text[32];
  std::snprintf(text, sizeof text, "%.1f %s", value, kUnits[unit]);
  return text;
}

std::string range_text(std::string_view singular, std::uint64_t first, std::uint64_t last) {
  const std::string one = std::string(singular) + (first == last ? " " : "s ") + std::to_string(first);
  return first == last ? one : one + " to " + std::to_string(last);
}

std::string count_text(std::uint64_t count, std::string_view singular) {
  std::string text = std::to_string(count) + ' ';
  text.append(singular);
  if (count != 1) text += 's';
  return text;
}

std::string number_text(double number) {
  if (std::isnan(number)) return "nan";  // whatever its sign bit
  char text[32];
  std::snprintf(text, sizeof text, "%.6g", number);
  return text;
}

std::string apart_text(double number, double other, std::string_view word) {
  constexpr int kMostDigits = 17;
  std::string text = number_text(number), behind = number_text(other);
  for (int digits = 7; text == behind && number != other && digits <= kMostDigits; ++digits) {
    char buffer[32];
    for (std::string* const to : {&text, &behind}) {
      std::snprintf(buffer, sizeof buffer, "%.*g", digits, to == &text ? number : other);
      *to = buffer;
    }
  }
  return text.append(word) + behind;
}

std::string shape_text(Shape shape) {
  std::string text = "[";
  for (const Dim dim : shape) {
    if (text.size() > 1) text += ',';
    text += std::to_string(dim);
  }
  return text + ']';
}

std::string format_text(Format format) {
  const std::string_view name = to_string(format);
  return name.empty() ? "format " + std::to_string(static_cast<std::int32_t>(format)) : std::string(name);
}

std::string time_text(std::uint64_t unix_us) {
  const time_t seconds = static_cast<time_t>(unix_us / 1000000);
  tm local{};
  char text[64];
  if (localtime_r(&seconds, &local) == nullptr ||
      strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &local) == 0)
    return std::to_string(unix_us);
  char fraction[16];
  std::snprintf(fraction, sizeof fraction, ".%06u", static_cast<unsigned>(unix_us % 1000000));
  return std::string(text) + fraction;
}

}  // namespace opdump::tool
