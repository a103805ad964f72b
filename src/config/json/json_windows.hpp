#pragma once
#include <array>
#include <cstddef>
#include <string_view>

#include "opdump/knobs.hpp"

namespace opdump::config {
inline namespace OPDUMP_NAMESPACE {

/// The arrays and objects that are open at a place of a JSON text, outermost first, as '[' and '{'.
struct OpenBrackets {
  std::array<char, 64> kinds{};
  std::size_t depth = 0;
};

/// Behind the string whose first quote is at `quote`; `npos` when it does not end.
std::size_t skip_string(std::string_view text, std::size_t quote);

/// At least as many as there are values in a JSON text. Of a long text outside its strings only, unless
/// those inside make no difference worth a look.
std::size_t count_values(std::string_view text);

/// Cuts a JSON text at commas between values, so that each piece has about the length that is asked for, or
/// half of it, however long the text is. Whether the text is JSON is not its business: from the first byte on
/// that cannot be right, all the rest is one piece. Takes time linear in the text.
class JsonWindows {
 public:
  JsonWindows(std::string_view text, std::size_t begin, std::size_t window_bytes)
      : text_(text), window_bytes_(window_bytes), begin_(begin) {
    find_end();
  }

  /// The next piece begins behind the comma that this one ends before. Only while this is not the last one.
  void advance() {
    begin_ = end_ + 1;
    before_ = after_;
    find_end();
  }

  std::size_t begin() const { return begin_; }
  std::size_t end() const { return end_; }
  bool last() const { return end_ == text_.size(); }
  /// What is open at the begin and, unless this is the last piece, at the end.
  const OpenBrackets& before() const { return before_; }
  const OpenBrackets& after() const { return after_; }

 private:
  void find_end();
  bool is_between_values(std::size_t comma) const;

  std::string_view text_;
  std::size_t window_bytes_;
  std::size_t begin_;
  std::size_t end_ = 0;
  OpenBrackets before_;
  OpenBrackets after_;
};

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::config
