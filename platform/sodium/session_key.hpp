#pragma once
#include <cstddef>

#include "opdump/format/sealed.hpp"
#include "opdump/port/sealer.hpp"
#include "platform/sodium/sodium_library.hpp"

namespace opdump::sodium {
inline namespace OPDUMP_NAMESPACE {

/// The key of a session, wiped when it goes. See format/sealed.hpp.
class SessionKey {
 public:
  explicit SessionKey(const SodiumLibrary& library) : library_(library) {}
  SessionKey(const SessionKey&) = delete;
  SessionKey& operator=(const SessionKey&) = delete;
  ~SessionKey() { library_.wipe(key_, sizeof key_); }

  /// Derives it from one side's private key and the other side's public one. False for a public key that no
  /// secret can be shared with, as one of zeros.
  [[nodiscard]] bool derive(SealKey secret, SealKey other, SealKey ephemeral, SealKey recipient) {
    unsigned char shared[kSealKeyBytes];
    if (library_.multiply(shared, octets(secret.data()), octets(other.data())) != 0) return false;
    // HKDF by hand: libsodium has it only from 1.0.19 on. One block is all that is asked for.
    static constexpr unsigned char kSalt[kSealKeyBytes] = {};
    std::byte expanded[sealed::kInfoBytes + 1];
    sealed::put_info(std::span(expanded).first<sealed::kInfoBytes>(), ephemeral, recipient);
    expanded[sealed::kInfoBytes] = std::byte{1};
    unsigned char extracted[kSealKeyBytes];
    library_.authenticate(extracted, shared, sizeof shared, kSalt);
    library_.authenticate(key_, octets(expanded), sizeof expanded, extracted);
    library_.wipe(shared, sizeof shared);
    library_.wipe(extracted, sizeof extracted);
    return true;
  }

  const unsigned char* data() const { return key_; }

 private:
  const SodiumLibrary& library_;
  unsigned char key_[kSealKeyBytes] = {};
};

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::sodium
