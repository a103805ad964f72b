#include "opdump/config/seal_key.hpp"

#include <algorithm>

namespace opdump {
inline namespace OPDUMP_NAMESPACE {
namespace {

constexpr std::string_view kBlanks = " \t\r\n";
constexpr std::string_view kLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr std::string_view kDigits = "0123456789abcdef";

/// Any key as PEM has fewer.
constexpr std::size_t kMostBytes = 64;

/// Decodes digits of `bits` bits each, blanks and padding left out. The number of bytes; 0: it is none.
std::size_t decode(std::string_view text, std::string_view digits, unsigned bits,
                   std::byte (&to)[kMostBytes]) {
  std::size_t bytes = 0;
  unsigned value = 0;
  unsigned held = 0;
  for (char c : text) {
    if (kBlanks.find(c) != kBlanks.npos || c == '=') continue;
    if (bits == 4 && c >= 'A' && c <= 'F') c = static_cast<char>(c + ('a' - 'A'));
    const std::size_t digit = digits.find(c);
    if (digit == digits.npos) return 0;
    value = value << bits | static_cast<unsigned>(digit);
    held += bits;
    if (held < 8) continue;
    held -= 8;
    if (bytes == kMostBytes) return 0;
    to[bytes++] = static_cast<std::byte>(value >> held);
  }
  return bytes;
}

/// What stands between the lines of PEM before and behind a key, if that is `der` and 32 bytes.
bool read_pem(std::string_view text, std::string_view begin, std::string_view der,
              std::span<std::byte, kSealKeyBytes> key) {
  const std::size_t first = text.find(begin);
  if (first == text.npos) return false;
  text.remove_prefix(first + begin.size());
  std::byte bytes[kMostBytes];
  const std::size_t count = decode(text.substr(0, text.find("-----END ")), kLetters, 6, bytes);
  if (count != der.size() + kSealKeyBytes || as_text(Bytes(bytes).first(der.size())) != der) return false;
  std::copy_n(bytes + der.size(), kSealKeyBytes, key.begin());
  return true;
}

}  // namespace

bool read_seal_digits(std::string_view text, std::span<std::byte, kSealKeyBytes> key) {
  constexpr std::size_t kBase64Letters = 44;
  std::byte bytes[kMostBytes];
  std::size_t count = 0;
  if (text.size() == 2 * kSealKeyBytes) count = decode(text, kDigits, 4, bytes);
  if (text.size() == kBase64Letters && text.back() == '=') count = decode(text, kLetters, 6, bytes);
  if (count != kSealKeyBytes) return false;
  std::copy_n(bytes, kSealKeyBytes, key.begin());
  return true;
}

SealKeyText read_seal_key(std::string_view text) {
  using Kind = SealKeyText::Kind;
  SealKeyText read;
  if (read_pem(text, "-----BEGIN PRIVATE KEY-----", kPrivateKeyDer, read.key)) {
    read.kind = Kind::private_key;
    return read;
  }
  const std::size_t first = std::min(text.find_first_not_of(kBlanks), text.size());
  const std::size_t end = text.find_last_not_of(kBlanks) + 1;
  if (read_pem(text, "-----BEGIN PUBLIC KEY-----", kPublicKeyDer, read.key) ||
      (end > first && read_seal_digits(text.substr(first, end - first), read.key)))
    read.kind = Kind::public_key;
  return read;
}

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump
