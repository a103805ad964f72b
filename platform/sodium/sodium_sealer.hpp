#pragma once
#include <cstddef>

#include "opdump/port/sealer.hpp"
#include "platform/sodium/session_key.hpp"
#include "platform/sodium/sodium_library.hpp"

namespace opdump::sodium {
inline namespace OPDUMP_NAMESPACE {

/// Seals by libsodium. `seal` only computes: it may run in a signal handler. Several objects work side by side.
class SodiumSealer final : public Sealer {
 public:
  /// `library` is loaded, and outlives this object.
  explicit SodiumSealer(const SodiumLibrary& library) : library_(library) {}

  /// `invalid_argument` for a public key that no secret can be shared with, as one of zeros.
  [[nodiscard]] Status begin(SealKey recipient, std::span<std::byte, kSealKeyBytes> ephemeral) override {
    std::byte secret[kSealKeyBytes];
    library_.random(secret, sizeof secret);
    library_.multiply_base(octets(ephemeral.data()), octets(secret));
    const bool derived = key_.derive(secret, recipient, ephemeral, recipient);
    library_.wipe(secret, sizeof secret);
    return derived ? Status::ok : Status::invalid_argument;
  }

  [[nodiscard]] Status seal(SealNonce nonce, Bytes associated, MutableBytes chunk) override {
    const std::size_t bytes = chunk.size() - kSealTagBytes;
    library_.encrypt(octets(chunk.data()), octets(chunk.data() + bytes), nullptr, octets(chunk.data()), bytes,
                     octets(associated.data()), associated.size(), nullptr, octets(nonce.data()),
                     key_.data());
    return Status::ok;
  }

 private:
  const SodiumLibrary& library_;
  SessionKey key_{library_};
};

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::sodium
