#include <doctest/doctest.h>
#include <psa/crypto.h>

#include <string>
#include <vector>

#include "platform/psa/psa_sealer.hpp"
#include "tests/seal/sealed_bench.hpp"
#include "tests/support/fakes.hpp"

using namespace opdump;
using namespace opdump::tests;

namespace {

const std::uint8_t* octets(const std::byte* bytes) {
  return reinterpret_cast<const std::uint8_t*>(bytes);
}
std::uint8_t* octets(std::byte* bytes) {
  return reinterpret_cast<std::uint8_t*>(bytes);
}

/// Opens by PSA Crypto what libsodium has sealed.
class PsaUnsealer final : public tool::Unsealer {
 public:
  explicit PsaUnsealer(const tool::SealKeyBytes& private_key) {
    REQUIRE(psa_crypto_init() == PSA_SUCCESS);
    psa_key_attributes_t attributes = PSA_KEY_ATTRIBUTES_INIT;
    psa_set_key_type(&attributes, PSA_KEY_TYPE_ECC_KEY_PAIR(PSA_ECC_FAMILY_MONTGOMERY));
    psa_set_key_usage_flags(&attributes, PSA_KEY_USAGE_DERIVE);
    psa_set_key_algorithm(&attributes, kAgreement);
    // Of X25519 some bits are fixed, and this import wants them so.
    tool::SealKeyBytes clamped = private_key;
    clamped[0] &= std::byte{0xf8};
    clamped[31] = (clamped[31] & std::byte{0x7f}) | std::byte{0x40};
    REQUIRE(psa_import_key(&attributes, octets(clamped.data()), clamped.size(), &pair_) == PSA_SUCCESS);
    std::size_t bytes = 0;
    REQUIRE(psa_export_public_key(pair_, octets(recipient_.data()), recipient_.size(), &bytes) ==
            PSA_SUCCESS);
  }
  ~PsaUnsealer() override {
    psa_destroy_key(key_);
    psa_destroy_key(pair_);
  }

  const tool::SealKeyBytes& recipient() const override { return recipient_; }

  bool begin(SealKey ephemeral) override {
    psa_destroy_key(key_);
    std::byte info[sealed::kInfoBytes];
    sealed::put_info(info, ephemeral, recipient_);
    psa_key_attributes_t attributes = PSA_KEY_ATTRIBUTES_INIT;
    psa_set_key_type(&attributes, PSA_KEY_TYPE_CHACHA20);
    psa_set_key_bits(&attributes, 256);
    psa_set_key_usage_flags(&attributes, PSA_KEY_USAGE_DECRYPT);
    psa_set_key_algorithm(&attributes, PSA_ALG_CHACHA20_POLY1305);
    psa_key_derivation_operation_t operation = PSA_KEY_DERIVATION_OPERATION_INIT;
    const bool derived =
        psa_key_derivation_setup(&operation, kAgreement) == PSA_SUCCESS &&
        psa_key_derivation_key_agreement(&operation, PSA_KEY_DERIVATION_INPUT_SECRET, pair_,
                                         octets(ephemeral.data()), ephemeral.size()) == PSA_SUCCESS &&
        psa_key_derivation_input_bytes(&operation, PSA_KEY_DERIVATION_INPUT_INFO, octets(info),
                                       sizeof info) == PSA_SUCCESS &&
        psa_key_derivation_output_key(&attributes, &operation, &key_) == PSA_SUCCESS;
    psa_key_derivation_abort(&operation);
    return derived;
  }

  bool open(SealNonce nonce, Bytes associated, MutableBytes chunk) override {
    std::size_t bytes = 0;
    return psa_aead_decrypt(key_, PSA_ALG_CHACHA20_POLY1305, octets(nonce.data()), nonce.size(),
                            octets(associated.data()), associated.size(), octets(chunk.data()), chunk.size(),
                            octets(chunk.data()), chunk.size(), &bytes) == PSA_SUCCESS;
  }

 private:
  static constexpr psa_algorithm_t kAgreement =
      PSA_ALG_KEY_AGREEMENT(PSA_ALG_ECDH, PSA_ALG_HKDF(PSA_ALG_SHA_256));

  psa_key_id_t pair_{};
  psa_key_id_t key_{};
  tool::SealKeyBytes recipient_{};
};

std::string sealed_by(Sealer& sealer, std::string_view recipient, const std::string& text) {
  FakeSink inner;
  std::vector<std::byte> memory(SealedSink<>::bytes_for(100));
  SealedSink<> sink(inner, sealer, memory);
  REQUIRE(sink.seal(recipient) == Status::ok);
  const ObjectId object = sink.begin({{}, "directory", "op"}).value();
  const Bytes part = as_bytes(text);
  REQUIRE(sink.append(object, {&part, 1}) == Status::ok);
  REQUIRE(sink.commit(object) == Status::ok);
  return std::string(as_text(inner.objects.at("|directory|op")));
}

}  // namespace

TEST_CASE("seal: what mbed TLS seals libsodium opens, and the other way") {
  Recipient recipient;
  PsaUnsealer by_psa(recipient.private_key);
  CHECK(by_psa.recipient() == recipient.key->recipient());
  psa::PsaSealer psa_sealer;
  sodium::SodiumSealer sodium_sealer{sodium_library()};
  for (std::size_t bytes : {0u, 1u, 85u, 86u, 87u, 1000u}) {
    std::string text(bytes, '\0');
    for (std::size_t i = 0; i < bytes; ++i) text[i] = static_cast<char>(i * 7);
    for (Sealer* const sealer : {static_cast<Sealer*>(&psa_sealer), static_cast<Sealer*>(&sodium_sealer)}) {
      const std::string file = sealed_by(*sealer, recipient.public_key(), text);
      for (tool::Unsealer* const key : {recipient.key.get(), static_cast<tool::Unsealer*>(&by_psa)}) {
        const Opened opened = open_file(*key, file);
        CHECK(opened.faults == "");
        CHECK(opened.text == text);
        std::string changed = file;
        changed.back() = static_cast<char>(changed.back() ^ 1);
        CHECK(open_file(*key, changed).faults != "");
      }
    }
  }
}

TEST_CASE("seal: a sealer of mbed TLS has a key of its own for each session") {
  Recipient recipient;
  psa::PsaSealer sealer;
  const std::string one = sealed_by(sealer, recipient.public_key(), "text");
  const std::string two = sealed_by(sealer, recipient.public_key(), "text");
  CHECK(one.substr(24, 32) != two.substr(24, 32));
  CHECK(one.substr(68) != two.substr(68));
}
