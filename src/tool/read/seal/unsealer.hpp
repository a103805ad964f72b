#pragma once
#include <array>
#include <cstddef>
#include <memory>

#include "opdump/base/bytes.hpp"
#include "opdump/port/sealer.hpp"

namespace opdump::tool {

using SealKeyBytes = std::array<std::byte, kSealKeyBytes>;

/// The other side of a Sealer: opens chunks with one private key. A chunk that was not sealed for it is told
/// from one that was, but not why.
class Unsealer {
 public:
  virtual ~Unsealer() = default;

  /// The public key that belongs to the private one.
  virtual const SealKeyBytes& recipient() const = 0;

  /// Derives the key of the session with that ephemeral public key, for the chunks that follow. False when no
  /// secret can be shared with it.
  virtual bool begin(SealKey ephemeral) = 0;

  /// Decrypts all of `chunk` but its tag, in place. False, with `chunk` void, when the tag is wrong.
  virtual bool open(SealNonce nonce, Bytes associated, MutableBytes chunk) = 0;
};

/// By libsodium, which is looked for at run time. Null where it is not: then say `kWithoutSodium`.
std::unique_ptr<Unsealer> make_unsealer(const SealKeyBytes& private_key);

/// A new private key. False without libsodium, or without random numbers.
bool make_private_key(SealKeyBytes& private_key);

inline constexpr char kWithoutSodium[] =
    "libsodium, by which sealed dumps are opened, is not on this system: install it (Debian's libsodium23)";

}  // namespace opdump::tool
