#pragma once
#include <chrono>
#include <optional>
#include <string>

namespace opdump::tool {

/// What a user says of a line.
struct LineWords {
  std::optional<std::string> baud;
  std::optional<std::string> wait;
  std::optional<std::string> idle;
};

/// Reads those words that there are, each to where it belongs. On false `error` says what is wrong.
bool read_line_words(const LineWords& words, unsigned& baud, std::chrono::milliseconds& wait,
                     std::chrono::milliseconds& idle, std::string& error);

}  // namespace opdump::tool
