#include "src/tool/cli/base64.hpp"

namespace opdump::tool {

std::string Base64::add(Bytes bytes) {
  std::string text;
  text.reserve((bytes.size() + held_) / 3 * 4);
  for (const std::byte byte : bytes) {
    bits_ = bits_ << 8 | static_cast<std::uint32_t>(byte);
    if (++held_ == 3) put(text, 4);
  }
  return text;
}

std::string Base64::finish() {
  std::string text;
  if (held_ == 0) return text;
  const unsigned missing = 3 - held_;
  bits_ <<= 8 * missing;
  put(text, 4 - missing);
  return text.append(missing, '=');
}

void Base64::put(std::string& text, unsigned letters) {
  constexpr char kLetters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  for (unsigned i = 0; i < letters; ++i) text += kLetters[bits_ >> (18 - 6 * i) & 0x3f];
  bits_ = held_ = 0;
}

std::string base64(Bytes bytes) {
  Base64 coder;
  std::string text = coder.add(bytes);
  return text + coder.finish();
}

}  // namespace opdump::tool
