#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace opdump::tool {

/// One character at the start of a text that may be UTF-8.
struct Character {
  char32_t code = 0;
  std::size_t bytes = 1;  ///< length; 1 where the text is not UTF-8
  bool valid = false;     ///< false: these bytes are not UTF-8
};

/// The first character of `text`, which is not empty. Overlong forms, surrogates and codes past U+10FFFF are
/// not valid UTF-8.
Character first_character(std::string_view text);

/// `text` with '?' for every character that would control a terminal: C0 and C1 controls, as UTF-8 or as bare
/// bytes, the marks that change the direction of writing, and bytes that are not UTF-8.
std::string printable(std::string_view text);

/// Columns that `text`, which has no controls, takes on a terminal: two for wide characters such as those of
/// East Asia, none for marks that combine with the previous character.
std::size_t display_width(std::string_view text);

/// `text`, with "..." in place of its middle if it is wider than `width`, which must be more than 3.
std::string shortened(const std::string& text, std::size_t width);

}  // namespace opdump::tool
