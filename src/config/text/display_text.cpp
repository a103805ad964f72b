#include "src/config/text/display_text.hpp"

#include <algorithm>
#include <iterator>

namespace opdump::tool {
namespace {

struct CodeRange {
  char32_t first;
  char32_t last;
};

template <std::size_t Count>
bool contains(const CodeRange (&ranges)[Count], char32_t code) {
  const CodeRange* const behind =
      std::upper_bound(std::begin(ranges), std::end(ranges), code,
                       [](char32_t c, const CodeRange& range) { return c < range.first; });
  return behind != std::begin(ranges) && code <= std::prev(behind)->last;
}

/// Marks that combine with the character before, and characters without a width.
/// Source: Unicode, general categories Mn, Me and Cf.
constexpr CodeRange kWithoutWidth[] = {
    {0x300, 0x36f},   {0x483, 0x489},   {0x591, 0x5bd},     {0x5bf, 0x5bf},     {0x5c1, 0x5c2},
    {0x5c4, 0x5c5},   {0x5c7, 0x5c7},   {0x610, 0x61a},     {0x64b, 0x65f},     {0x670, 0x670},
    {0x6d6, 0x6dc},   {0x6df, 0x6e4},   {0x6e7, 0x6e8},     {0x6ea, 0x6ed},     {0x900, 0x902},
    {0x93a, 0x93a},   {0x93c, 0x93c},   {0x941, 0x948},     {0x94d, 0x94d},     {0xe31, 0xe31},
    {0xe34, 0xe3a},   {0xe47, 0xe4e},   {0x1ab0, 0x1aff},   {0x1dc0, 0x1dff},   {0x200b, 0x200f},
    {0x2060, 0x2064}, {0x20d0, 0x20f0}, {0x302a, 0x302d},   {0x3099, 0x309a},   {0xfe00, 0xfe0f},
    {0xfe20, 0xfe2f}, {0xfeff, 0xfeff}, {0x1f3fb, 0x1f3ff}, {0xe0001, 0xe007f}, {0xe0100, 0xe01ef},
};

/// Source: Unicode, East Asian width W and F.
constexpr CodeRange kWide[] = {
    {0x1100, 0x115f},   {0x231a, 0x231b},   {0x2329, 0x232a},   {0x23e9, 0x23ec},   {0x23f0, 0x23f0},
    {0x23f3, 0x23f3},   {0x25fd, 0x25fe},   {0x2614, 0x2615},   {0x2648, 0x2653},   {0x267f, 0x267f},
    {0x2693, 0x2693},   {0x26a1, 0x26a1},   {0x26aa, 0x26ab},   {0x26bd, 0x26be},   {0x26c4, 0x26c5},
    {0x26ce, 0x26ce},   {0x26d4, 0x26d4},   {0x26ea, 0x26ea},   {0x26f2, 0x26f3},   {0x26f5, 0x26f5},
    {0x26fa, 0x26fa},   {0x26fd, 0x26fd},   {0x2705, 0x2705},   {0x270a, 0x270b},   {0x2728, 0x2728},
    {0x274c, 0x274c},   {0x274e, 0x274e},   {0x2753, 0x2755},   {0x2757, 0x2757},   {0x2795, 0x2797},
    {0x27b0, 0x27b0},   {0x27bf, 0x27bf},   {0x2b1b, 0x2b1c},   {0x2b50, 0x2b50},   {0x2b55, 0x2b55},
    {0x2e80, 0x303e},   {0x3041, 0x3247},   {0x3250, 0x4dbf},   {0x4e00, 0xa4cf},   {0xa960, 0xa97f},
    {0xac00, 0xd7a3},   {0xf900, 0xfaff},   {0xfe10, 0xfe19},   {0xfe30, 0xfe6f},   {0xff00, 0xff60},
    {0xffe0, 0xffe6},   {0x16fe0, 0x18aff}, {0x1b000, 0x1b2ff}, {0x1f004, 0x1f004}, {0x1f0cf, 0x1f0cf},
    {0x1f18e, 0x1f18e}, {0x1f191, 0x1f19a}, {0x1f200, 0x1f265}, {0x1f300, 0x1f320}, {0x1f32d, 0x1f335},
    {0x1f337, 0x1f37c}, {0x1f37e, 0x1f393}, {0x1f3a0, 0x1f3ca}, {0x1f3cf, 0x1f3d3}, {0x1f3e0, 0x1f3f0},
    {0x1f3f4, 0x1f3f4}, {0x1f3f8, 0x1f43e}, {0x1f440, 0x1f440}, {0x1f442, 0x1f4fc}, {0x1f4ff, 0x1f53d},
    {0x1f54b, 0x1f567}, {0x1f5fb, 0x1f64f}, {0x1f680, 0x1f6c5}, {0x1f6cc, 0x1f6cc}, {0x1f6d0, 0x1f6d2},
    {0x1f6d5, 0x1f6d7}, {0x1f6dc, 0x1f6df}, {0x1f6eb, 0x1f6ec}, {0x1f6f4, 0x1f6fc}, {0x1f7e0, 0x1f7eb},
    {0x1f90c, 0x1f93a}, {0x1f93c, 0x1f945}, {0x1f947, 0x1f9ff}, {0x1fa70, 0x1faff}, {0x20000, 0x3fffd},
};

/// C0 and C1 controls, line and paragraph separators, and the marks that turn the direction of writing.
constexpr CodeRange kControls[] = {{0, 0x1f},        {0x7f, 0x9f},     {0x61c, 0x61c},
                                   {0x200e, 0x200f}, {0x2028, 0x202e}, {0x2066, 0x2069}};

std::size_t width_of(const Character& character) {
  if (!character.valid) return 1;
  if (contains(kWithoutWidth, character.code)) return 0;
  return contains(kWide, character.code) ? 2 : 1;
}

/// Bytes of the longest start of `text` that is at most `width` wide.
std::size_t fitting_start(std::string_view text, std::size_t width) {
  std::size_t end = 0;
  for (std::size_t used = 0; end < text.size();) {
    const Character character = first_character(text.substr(end));
    used += width_of(character);
    if (used > width) break;
    end += character.bytes;
  }
  return end;
}

}  // namespace

Character first_character(std::string_view text) {
  const auto byte = [&](std::size_t at) { return static_cast<unsigned char>(text[at]); };
  constexpr char32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};
  const unsigned char first = byte(0);
  if (first < 0x80) return {first, 1, true};
  const std::size_t bytes = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc0 || first >= 0xf8 || text.size() < bytes) return {first, 1, false};
  char32_t code = first & (0x7fu >> bytes);
  for (std::size_t i = 1; i < bytes; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return {first, 1, false};
    code = code << 6 | (byte(i) & 0x3fu);
  }
  const bool surrogate = code >= 0xd800 && code <= 0xdfff;
  if (code < kLeast[bytes] || code > 0x10ffff || surrogate) return {first, 1, false};
  return {code, bytes, true};
}

std::string printable(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const Character character = first_character(text);
    if (character.valid && !contains(kControls, character.code)) {
      out.append(text.substr(0, character.bytes));
    } else {
      out += '?';
    }
    text.remove_prefix(character.bytes);
  }
  return out;
}

std::size_t display_width(std::string_view text) {
  std::size_t width = 0;
  while (!text.empty()) {
    const Character character = first_character(text);
    width += width_of(character);
    text.remove_prefix(character.bytes);
  }
  return width;
}

std::string shortened(const std::string& text, std::size_t width) {
  constexpr std::size_t kDots = 3;
  const std::size_t whole = display_width(text);
  if (whole <= width || width <= kDots) return text;
  const std::size_t front = (width - kDots) / 2;
  const std::size_t back = width - kDots - front;
  // What is left out is at least as wide as what has to go; a mark goes with its character.
  const std::string_view view = text;
  std::size_t behind = fitting_start(view, whole - back);
  while (behind < view.size() && display_width(view.substr(behind)) > back)
    behind += first_character(view.substr(behind)).bytes;
  while (behind < view.size() && width_of(first_character(view.substr(behind))) == 0)
    behind += first_character(view.substr(behind)).bytes;
  return text.substr(0, fitting_start(view, front)) + "..." + text.substr(behind);
}

}  // namespace opdump::tool
