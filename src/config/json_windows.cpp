#include "json_windows.hpp"

#include <algorithm>

namespace opdump::config {
namespace {

constexpr std::string_view kSpaces = " \t\r\n";

bool can_end_value(char c) {
  return c != '[' && c != '{' && c != ',' && c != ':';
}

bool can_begin_value(char c) {
  return c != ']' && c != '}' && c != ',' && c != ':';
}

}  // namespace

std::size_t skip_string(std::string_view text, std::size_t quote) {
  for (std::size_t end = text.find('"', quote + 1); end != std::string_view::npos;
       end = text.find('"', end + 1)) {
    std::size_t backslashes = 0;
    while (text[end - 1 - backslashes] == '\\') ++backslashes;
    if (backslashes % 2 == 0) return end + 1;
  }
  return std::string_view::npos;
}

std::size_t count_values(std::string_view text) {
  constexpr std::size_t kShort = 1024;
  const auto separates = [](char c) { return c == ',' || c == '[' || c == '{'; };
  if (text.size() <= kShort)
    return 1 + static_cast<std::size_t>(std::count_if(text.begin(), text.end(), separates));
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
    } else if (c == ',' && open.depth > 0 && is_between_values(i)) {
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
  const std::size_t before = text_.find_last_not_of(kSpaces, comma - 1);
  const std::size_t after = text_.find_first_not_of(kSpaces, comma + 1);
  return before != std::string_view::npos && before >= begin_ && can_end_value(text_[before]) &&
         after != std::string_view::npos && can_begin_value(text_[after]);
}

}  // namespace opdump::config
