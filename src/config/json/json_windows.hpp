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

/// The position after the string whose first quote is at `quote`; `npos` when the string does not end.
std::size_t skip_string(std::string_view text, std::size_t quote);

/// An upper bound for the number of values in a JSON text. If a long text has many separators, those inside
/// strings are left out of the count.
std::size_t count_values(std::string_view text);

/// Cuts a JSON text at commas between values, so that each piece has about the length asked for, or half of
/// it, for a text of any length. Does not check the text: from the first byte that cannot be right, the rest
/// is one piece. Takes time linear in the text.
class JsonWindows {
 public:
  JsonWindows(std::string_view text, std::size_t begin, std::size_t window_bytes)
      : text_(text), window_bytes_(window_bytes), begin_(begin) {
    find_end();
  }

  /// Goes to the next piece, which begins after the comma that ends this one. Only while this is not the last piece.
  void advance() {
    begin_ = end_ + 1;
    before_ = after_;
    find_end();
  }

  std::size_t begin() const { return begin_; }
  std::size_t end() const { return end_; }
  bool last() const { return end_ == text_.size(); }
  /// The brackets that are open at the piece's begin and, unless it is the last piece, at its end.
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
