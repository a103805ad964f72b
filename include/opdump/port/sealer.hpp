#pragma once
#include <cstddef>
#include <span>

#include "opdump/base/bytes.hpp"
#include "opdump/base/status.hpp"

namespace opdump {
inline namespace OPDUMP_NAMESPACE {

inline constexpr std::size_t kSealKeyBytes = 32;    ///< of a public key
inline constexpr std::size_t kSealNonceBytes = 12;  ///< of a chunk
inline constexpr std::size_t kSealTagBytes = 16;    ///< behind the bytes of a chunk

using SealKey = std::span<const std::byte, kSealKeyBytes>;
using SealNonce = std::span<const std::byte, kSealNonceBytes>;

/// The cryptography of a SealedSink, as a platform supplies it: X25519, HKDF-SHA256 and ChaCha20-Poly1305
/// (RFC 7748, 5869, 8439), put together as format/sealed.hpp says. All calls come from the thread that
/// drains, but `begin`, which comes while nothing drains.
class Sealer {
 public:
  /// Makes a key pair of its own, which must come from a random number generator fit for keys, and from it
  /// and the public key `recipient` the key that all later chunks are sealed with. `ephemeral` becomes the
  /// public key of that pair; the private one is forgotten. After an error nothing may be sealed.
  [[nodiscard]] virtual Status begin(SealKey recipient, std::span<std::byte, kSealKeyBytes> ephemeral) = 0;

  /// Encrypts all of `chunk` but its last kSealTagBytes in place, and writes the tag of it and of
  /// `associated` there. No nonce comes twice between two calls of `begin`. Allocates nothing.
  [[nodiscard]] virtual Status seal(SealNonce nonce, Bytes associated, MutableBytes chunk) = 0;

 protected:
  ~Sealer() = default;
};

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump
