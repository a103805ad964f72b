#include <algorithm>
#include <optional>

#include "platform/sodium/session_key.hpp"
#include "src/tool/read/seal/unsealer.hpp"

namespace opdump::tool {
namespace {

using sodium::octets;

class SodiumUnsealer final : public Unsealer {
 public:
  ~SodiumUnsealer() override {
    if (key_) library_.wipe(private_key_.data(), private_key_.size());
  }

  bool start(const SealKeyBytes& private_key) {
    if (library_.load() != Status::ok) return false;
    key_.emplace(library_);
    private_key_ = private_key;
    library_.multiply_base(octets(recipient_.data()), octets(private_key_.data()));
    return true;
  }

  const SealKeyBytes& recipient() const override { return recipient_; }

  bool begin(SealKey ephemeral) override {
    // Most streams of a dump are of one session.
    if (derived_ && std::equal(ephemeral.begin(), ephemeral.end(), ephemeral_.begin())) return true;
    std::copy(ephemeral.begin(), ephemeral.end(), ephemeral_.begin());
    derived_ = key_->derive(private_key_, ephemeral, ephemeral, recipient_);
    return derived_;
  }

  bool open(SealNonce nonce, Bytes associated, MutableBytes chunk) override {
    const std::size_t bytes = chunk.size() - kSealTagBytes;
    return library_.decrypt(octets(chunk.data()), nullptr, octets(chunk.data()), bytes,
                            octets(chunk.data() + bytes), octets(associated.data()), associated.size(),
                            octets(nonce.data()), key_->data()) == 0;
  }

 private:
  sodium::SodiumLibrary library_;
  SealKeyBytes private_key_{};
  SealKeyBytes recipient_{};
  SealKeyBytes ephemeral_{};
  std::optional<sodium::SessionKey> key_;
  bool derived_ = false;
};

}  // namespace

std::unique_ptr<Unsealer> make_unsealer(const SealKeyBytes& private_key) {
  auto unsealer = std::make_unique<SodiumUnsealer>();
  if (!unsealer->start(private_key)) return nullptr;
  return unsealer;
}

bool make_private_key(SealKeyBytes& private_key) {
  sodium::SodiumLibrary library;
  if (library.load() != Status::ok) return false;
  library.random(private_key.data(), private_key.size());
  return true;
}

}  // namespace opdump::tool
