#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "opdump/port/sealer.hpp"

namespace opdump {
inline namespace OPDUMP_NAMESPACE {

/// A key of X25519 as a text has it. For hosts: allocates.
struct SealKeyText {
  enum class Kind : std::uint8_t { none, public_key, private_key };

  Kind kind = Kind::none;  ///< none: the text holds no such key
  std::array<std::byte, kSealKeyBytes> key{};
};

/// What stands before the 32 bytes of a key in DER: of a private one in PKCS #8, and of a public one. Source:
/// RFC 8410.
inline constexpr std::string_view kPrivateKeyDer{
    "\x30\x2e\x02\x01\x00\x30\x05\x06\x03\x2b\x65\x6e\x04\x22\x04\x20", 16};
inline constexpr std::string_view kPublicKeyDer{"\x30\x2a\x30\x05\x06\x03\x2b\x65\x6e\x03\x21\x00", 12};

/// Reads a public key as 64 hexadecimal digits or 44 letters of base64, with nothing around them. False: `text`
/// is something else.
bool read_seal_digits(std::string_view text, std::span<std::byte, kSealKeyBytes> key);

/// The same, also with blanks around it, and either key as PEM, as `openssl genpkey -algorithm X25519` and
/// `openssl pkey -pubout` write it: what a file holds.
SealKeyText read_seal_key(std::string_view text);

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump
