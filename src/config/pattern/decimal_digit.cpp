#include "src/config/pattern/decimal_digit.hpp"

#include <iterator>

namespace opdump::config {
inline namespace OPDUMP_NAMESPACE {
namespace {

/// The zeros of Unicode 14.0.0 (general category Nd); nine digits follow each.
constexpr char32_t kZeros[] = {
    0x660,   0x6f0,   0x7c0,   0x966,   0x9e6,   0xa66,   0xae6,   0xb66,   0xbe6,   0xc66,   0xce6,
    0xd66,   0xde6,   0xe50,   0xed0,   0xf20,   0x1040,  0x1090,  0x17e0,  0x1810,  0x1946,  0x19d0,
    0x1a80,  0x1a90,  0x1b50,  0x1bb0,  0x1c40,  0x1c50,  0xa620,  0xa8d0,  0xa900,  0xa9d0,  0xa9f0,
    0xaa50,  0xabf0,  0xff10,  0x104a0, 0x10d30, 0x11066, 0x110f0, 0x11136, 0x111d0, 0x112f0, 0x11450,
    0x114d0, 0x11650, 0x116c0, 0x11730, 0x118e0, 0x11950, 0x11c50, 0x11d50, 0x11da0, 0x16a60, 0x16ac0,
    0x16b50, 0x1d7ce, 0x1d7d8, 0x1d7e2, 0x1d7ec, 0x1d7f6, 0x1e140, 0x1e2f0, 0x1e950, 0x1fbf0};

/// How many bytes a character beginning with `lead` has.
std::size_t length_of(unsigned char lead) {
  if (lead < 0x80) return 1;
  if (lead < 0xe0) return 2;
  return lead < 0xf0 ? 3 : 4;
}

}  // namespace

std::size_t digit_bytes(std::string_view text) {
  if (text.empty()) return 0;
  const auto lead = static_cast<unsigned char>(text[0]);
  const std::size_t length = length_of(lead);
  if (length == 1) return text[0] >= '0' && text[0] <= '9' ? 1 : 0;
  if (text.size() < length) return 0;
  char32_t code = lead & (0x7fu >> length);
  for (std::size_t i = 1; i < length; ++i) code = code << 6 | (static_cast<unsigned char>(text[i]) & 0x3fu);
  for (const char32_t zero : kZeros) {
    if (code >= zero && code < zero + 10) return length;
  }
  return 0;
}

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::config
