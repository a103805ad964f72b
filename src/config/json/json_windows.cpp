#include "src/config/json/json_windows.hpp"

#include <algorithm>
#include <cstdint>

#include "src/config/json/byte_words.hpp"
#include "src/config/letters.hpp"

namespace opdump::config {
inline namespace OPDUMP_NAMESPACE {
namespace {

bool can_end_value(char c) {
  return c != '[' && c != '{' && c != ',' && c != ':';
}

bool can_begin_value(char c) {
  return c != ']' && c != '}' && c != ',' && c != ':';
}

bool separates(char c) {
  return c == ',' || c == '[' || c == '{';
}

/// Counts those inside strings too, in blocks whose counts fit a byte, so that the compiler uses vector instructions.
std::size_t count_separators(std::string_view text) {
  constexpr std::size_t kBlock = 128;
  std::size_t count = 0;
  for (; text.size() >= kBlock; text.remove_prefix(kBlock)) {
    std::uint8_t in_block = 0;
    for (std::size_t i = 0; i < kBlock; ++i)
      in_block = static_cast<std::uint8_t>(in_block + separates(text[i]));
    count += in_block;
  }
  for (const char c : text) count += separates(c);
  return count;
}

}  // namespace

std::size_t skip_string(std::string_view text, std::size_t quote) {
  for (std::size_t at = quote + 1; at < text.size();) {
    at = find_string_sign(text, at);
    if (at == text.size()) break;
    if (text[at] == '"') return at + 1;
    at += 2;
  }
  return std::string_view::npos;
}

std::size_t count_values(std::string_view text) {
  constexpr std::size_t kShort = 1024;
  constexpr std::size_t kBytesPerValue = 10;
  const std::size_t most = 1 + count_separators(text);
  if (text.size() <= kShort || most <= text.size() / kBytesPerValue) return most;
  std::size_t count = 1;
  for (std::size_t i = 0; i < text.size();) {
    if (text[i] == '"') {
      i = std::min(skip_string(text, i), text.size());
    } else {
      count += separates(text[i++]);
    }
  }
  return count;
}

void JsonWindows::find_end() {
  end_ = text_.size();
  if (text_.size() - begin_ <= window_bytes_) return;
  OpenBrackets open = before_;
  std::size_t cut = text_.size();
  for (std::size_t i = begin_; i < text_.size() && (cut == text_.size() || i - begin_ < window_bytes_);) {
    const char c = text_[i];
    if (c == '"') {
      i = skip_string(text_, i);
      if (i == std::string_view::npos) return;
      continue;
    }
    if (c == '[' || c == '{') {
      if (open.depth == open.kinds.size()) return;
      open.kinds[open.depth++] = c;
    } else if (c == ']' || c == '}') {
      if (open.depth < 2 || open.kinds[--open.depth] != (c == ']' ? '[' : '{')) return;
    } else if (c == ',' && open.depth > 0 && i - begin_ >= window_bytes_ / 2 && is_between_values(i)) {
      cut = i;
      after_ = open;
    } else if (c == '\\') {
      return;
    }
    ++i;
  }
  end_ = cut;
}

bool JsonWindows::is_between_values(std::size_t comma) const {
  std::size_t before = comma;
  while (before > begin_ && is_space(text_[before - 1])) --before;
  std::size_t after = comma + 1;
  while (after < text_.size() && is_space(text_[after])) ++after;
  return before > begin_ && can_end_value(text_[before - 1]) && after < text_.size() &&
         can_begin_value(text_[after]);
}

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::config
