#pragma once
#include <psa/crypto.h>

#include <cstddef>

#include "opdump/format/sealed.hpp"
#include "opdump/port/sealer.hpp"

namespace opdump::psa {
inline namespace OPDUMP_NAMESPACE {

/// Seals by the PSA Crypto API: mbed TLS from 2.28 on, or the secure side of a TrustZone. Needs of it X25519,
/// HKDF, SHA-256 and ChaCha20-Poly1305, and an entropy source of the board. `begin` takes the memory that the
/// implementation takes for keys; with mbed TLS that is its heap. One object at a time calls it, unless the
/// implementation allows more.
class PsaSealer final : public Sealer {
 public:
  PsaSealer() = default;
  PsaSealer(const PsaSealer&) = delete;
  PsaSealer& operator=(const PsaSealer&) = delete;
  ~PsaSealer() { forget(); }

  /// `driver_failed` when the implementation refuses a step, as without an algorithm or entropy.
  [[nodiscard]] Status begin(SealKey recipient, std::span<std::byte, kSealKeyBytes> ephemeral) override {
    forget();
    if (psa_crypto_init() != PSA_SUCCESS) return Status::driver_failed;
    psa_key_attributes_t attributes = PSA_KEY_ATTRIBUTES_INIT;
    psa_set_key_type(&attributes, PSA_KEY_TYPE_ECC_KEY_PAIR(PSA_ECC_FAMILY_MONTGOMERY));
    psa_set_key_bits(&attributes, 255);
    psa_set_key_usage_flags(&attributes, PSA_KEY_USAGE_DERIVE);
    psa_set_key_algorithm(&attributes, kAgreement);
    psa_key_id_t pair = kNoKey;
    if (psa_generate_key(&attributes, &pair) != PSA_SUCCESS) return Status::driver_failed;
    const bool derived = derive(pair, recipient, ephemeral);
    psa_destroy_key(pair);
    return derived ? Status::ok : Status::driver_failed;
  }

  [[nodiscard]] Status seal(SealNonce nonce, Bytes associated, MutableBytes chunk) override {
    std::size_t bytes = 0;
    const psa_status_t status =
        psa_aead_encrypt(key_, PSA_ALG_CHACHA20_POLY1305, octets(nonce.data()), nonce.size(),
                         octets(associated.data()), associated.size(), octets(chunk.data()),
                         chunk.size() - kSealTagBytes, octets(chunk.data()), chunk.size(), &bytes);
    return status == PSA_SUCCESS && bytes == chunk.size() ? Status::ok : Status::driver_failed;
  }

 private:
  static constexpr psa_key_id_t kNoKey{};
  static constexpr psa_algorithm_t kAgreement =
      PSA_ALG_KEY_AGREEMENT(PSA_ALG_ECDH, PSA_ALG_HKDF(PSA_ALG_SHA_256));

  static const std::uint8_t* octets(const std::byte* bytes) {
    return reinterpret_cast<const std::uint8_t*>(bytes);
  }
  static std::uint8_t* octets(std::byte* bytes) { return reinterpret_cast<std::uint8_t*>(bytes); }

  bool derive(psa_key_id_t pair, SealKey recipient, std::span<std::byte, kSealKeyBytes> ephemeral) {
    std::size_t bytes = 0;
    if (psa_export_public_key(pair, octets(ephemeral.data()), ephemeral.size(), &bytes) != PSA_SUCCESS ||
        bytes != ephemeral.size())
      return false;
    std::byte info[sealed::kInfoBytes];
    sealed::put_info(info, ephemeral, recipient);
    psa_key_attributes_t attributes = PSA_KEY_ATTRIBUTES_INIT;
    psa_set_key_type(&attributes, PSA_KEY_TYPE_CHACHA20);
    psa_set_key_bits(&attributes, 256);
    psa_set_key_usage_flags(&attributes, PSA_KEY_USAGE_ENCRYPT);
    psa_set_key_algorithm(&attributes, PSA_ALG_CHACHA20_POLY1305);
    psa_key_derivation_operation_t operation = PSA_KEY_DERIVATION_OPERATION_INIT;
    const bool derived =
        psa_key_derivation_setup(&operation, kAgreement) == PSA_SUCCESS &&
        psa_key_derivation_key_agreement(&operation, PSA_KEY_DERIVATION_INPUT_SECRET, pair,
                                         octets(recipient.data()), recipient.size()) == PSA_SUCCESS &&
        psa_key_derivation_input_bytes(&operation, PSA_KEY_DERIVATION_INPUT_INFO, octets(info),
                                       sizeof info) == PSA_SUCCESS &&
        psa_key_derivation_output_key(&attributes, &operation, &key_) == PSA_SUCCESS;
    psa_key_derivation_abort(&operation);
    return derived;
  }

  void forget() {
    psa_destroy_key(key_);
    key_ = kNoKey;
  }

  psa_key_id_t key_ = kNoKey;
};

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::psa
