#pragma once
#include <optional>

#include "opdump/port/sealer.hpp"
#include "platform/sodium/sodium_library.hpp"
#include "platform/sodium/sodium_sealer.hpp"

namespace opdump::sodium {
inline namespace OPDUMP_NAMESPACE {

/// A SodiumSealer with a library of its own.
class LoadedSealer final : public Sealer {
 public:
  LoadedSealer() = default;
  LoadedSealer(const LoadedSealer&) = delete;
  LoadedSealer& operator=(const LoadedSealer&) = delete;

  /// Once, before all other calls, which need it. Errors as `SodiumLibrary::load`.
  [[nodiscard]] Status load() {
    const Status status = library_.load();
    if (status == Status::ok) sealer_.emplace(library_);
    return status;
  }

  [[nodiscard]] Status begin(SealKey recipient, std::span<std::byte, kSealKeyBytes> ephemeral) override {
    return sealer_->begin(recipient, ephemeral);
  }

  [[nodiscard]] Status seal(SealNonce nonce, Bytes associated, MutableBytes chunk) override {
    return sealer_->seal(nonce, associated, chunk);
  }

 private:
  SodiumLibrary library_;
  std::optional<SodiumSealer> sealer_;
};

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::sodium
