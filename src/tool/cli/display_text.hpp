#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace opdump::tool {

/// One character at the start of a text that may be UTF-8.
struct Character {
  char32_t code = 0;
  std::size_t bytes = 1;  ///< that it takes; 1 of a text that is no UTF-8 there
  bool valid = false;     ///< false: these bytes are no UTF-8
};

/// The first character of `text`, which is not empty. Longer forms than needed, surrogates and what lies past
/// U+10FFFF are no UTF-8.
Character first_character(std::string_view text);

/// `text` with every character that would drive a terminal made visible as '?': C0 and C1 controls, whether as
/// UTF-8 or as bare bytes, the marks that turn the direction of writing, and bytes that are no UTF-8.
std::string printable(std::string_view text);

/// Columns that `text` takes on a terminal: two for wide characters such as those of East Asia, none for
/// marks that combine with the character before. Without controls.
std::size_t display_width(std::string_view text);

/// `text`, with its middle as "..." where it would be wider than `width`, which has to be more than 3.
std::string shortened(const std::string& text, std::size_t width);

}  // namespace opdump::tool
