#include "opdump/config/seal_key.hpp"

#include <algorithm>
#include <optional>
#include <string>

namespace opdump {
inline namespace OPDUMP_NAMESPACE {
namespace {

constexpr std::string_view kBlanks = " \t\r\n";

constexpr std::string_view kLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(kBlanks);
  if (first == text.npos) return {};
  return text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

std::optional<std::string> from_base64(std::string_view text) {
  std::string bytes;
  std::uint32_t bits = 0;
  unsigned held = 0;
  std::size_t letters = 0;
  bool ended = false;
  for (const char c : text) {
    if (kBlanks.find(c) != kBlanks.npos) continue;
    ++letters;
    if (c == '=') {
      ended = true;
      continue;
    }
    const std::size_t value = kLetters.find(c);
    if (value == kLetters.npos || ended) return std::nullopt;
    bits = bits << 6 | static_cast<std::uint32_t>(value);
    held += 6;
    if (held < 8) continue;
    held -= 8;
    bytes += static_cast<char>(bits >> held & 0xff);
  }
  if (letters % 4 != 0) return std::nullopt;
  return bytes;
}

std::optional<std::string> from_hexadecimal(std::string_view text) {
  const auto digit = [](char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
  };
  std::string bytes;
  for (std::size_t i = 0; i + 1 < text.size(); i += 2) {
    const int high = digit(text[i]);
    const int low = digit(text[i + 1]);
    if (high < 0 || low < 0) return std::nullopt;
    bytes += static_cast<char>(high * 16 + low);
  }
  return bytes;
}

/// What stands between the lines of PEM that say `what`.
std::optional<std::string> from_pem(std::string_view text, std::string_view what) {
  const std::string begin = "-----BEGIN " + std::string(what) + "-----";
  const std::string end = "-----END " + std::string(what) + "-----";
  const std::size_t first = text.find(begin);
  if (first == text.npos) return std::nullopt;
  text.remove_prefix(first + begin.size());
  const std::size_t last = text.find(end);
  return last == text.npos ? std::nullopt : from_base64(text.substr(0, last));
}

SealKeyText made(SealKeyText::Kind kind, std::string_view bytes) {
  SealKeyText key;
  if (bytes.size() != kSealKeyBytes) return key;
  key.kind = kind;
  std::transform(bytes.begin(), bytes.end(), key.key.begin(),
                 [](char c) { return static_cast<std::byte>(c); });
  return key;
}

}  // namespace

SealKeyText read_seal_key(std::string_view text) {
  using Kind = SealKeyText::Kind;
  if (const auto der = from_pem(text, "PRIVATE KEY"); der && der->starts_with(kPrivateKeyDer))
    return made(Kind::private_key, std::string_view(*der).substr(kPrivateKeyDer.size()));
  if (const auto der = from_pem(text, "PUBLIC KEY"); der && der->starts_with(kPublicKeyDer))
    return made(Kind::public_key, std::string_view(*der).substr(kPublicKeyDer.size()));
  text = trimmed(text);
  constexpr std::size_t kBase64Letters = 44;
  std::optional<std::string> bytes;
  if (text.size() == 2 * kSealKeyBytes) bytes = from_hexadecimal(text);
  if (text.size() == kBase64Letters && text.back() == '=') bytes = from_base64(text);
  return bytes ? made(Kind::public_key, *bytes) : SealKeyText{};
}

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump
