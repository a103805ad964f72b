#pragma once
#include <dlfcn.h>

#include <cstddef>

#include "opdump/base/bytes.hpp"
#include "opdump/base/status.hpp"

namespace opdump::sodium {
inline namespace OPDUMP_NAMESPACE {

inline const unsigned char* octets(const std::byte* bytes) {
  return reinterpret_cast<const unsigned char*>(bytes);
}
inline unsigned char* octets(std::byte* bytes) {
  return reinterpret_cast<unsigned char*>(bytes);
}

/// The functions of libsodium that opdump calls, looked up at run time, so that a program which seals nothing does
/// not need it. Its headers are not needed. Source: libsodium 1.0.18; both names have the same functions.
class SodiumLibrary {
 public:
  static constexpr const char* kNames[] = {"libsodium.so.23", "libsodium.so.26"};

  SodiumLibrary() = default;
  SodiumLibrary(const SodiumLibrary&) = delete;
  SodiumLibrary& operator=(const SodiumLibrary&) = delete;

  /// `library_missing`; `symbol_missing` for another library of that name; `driver_failed` when libsodium
  /// finds no random numbers. Stays loaded when this object goes. For boot: allocates.
  [[nodiscard]] Status load() {
    for (const char* const name : kNames) {
      if (library_ == nullptr) library_ = ::dlopen(name, RTLD_NOW | RTLD_LOCAL);
    }
    if (library_ == nullptr) return Status::library_missing;
    int (*init)() = nullptr;
    const bool found = look_up("sodium_init", init) && look_up("sodium_memzero", wipe) &&
                       look_up("randombytes_buf", random) &&
                       look_up("crypto_scalarmult_curve25519", multiply) &&
                       look_up("crypto_scalarmult_curve25519_base", multiply_base) &&
                       look_up("crypto_auth_hmacsha256", authenticate) &&
                       look_up("crypto_aead_chacha20poly1305_ietf_encrypt_detached", encrypt) &&
                       look_up("crypto_aead_chacha20poly1305_ietf_decrypt_detached", decrypt);
    if (!found) return Status::symbol_missing;
    return init() < 0 ? Status::driver_failed : Status::ok;
  }

  void (*wipe)(void*, std::size_t) = nullptr;
  void (*random)(void*, std::size_t) = nullptr;
  int (*multiply)(unsigned char* product, const unsigned char* scalar, const unsigned char* point) = nullptr;
  int (*multiply_base)(unsigned char* product, const unsigned char* scalar) = nullptr;
  int (*authenticate)(unsigned char* to, const unsigned char* from, unsigned long long bytes,
                      const unsigned char* key) = nullptr;
  int (*encrypt)(unsigned char* to, unsigned char* tag, unsigned long long* tag_bytes,
                 const unsigned char* from, unsigned long long bytes, const unsigned char* associated,
                 unsigned long long associated_bytes, const unsigned char* none, const unsigned char* nonce,
                 const unsigned char* key) = nullptr;
  int (*decrypt)(unsigned char* to, unsigned char* none, const unsigned char* from, unsigned long long bytes,
                 const unsigned char* tag, const unsigned char* associated,
                 unsigned long long associated_bytes, const unsigned char* nonce,
                 const unsigned char* key) = nullptr;

 private:
  template <class Function>
  bool look_up(const char* name, Function& function) {
    function = reinterpret_cast<Function>(::dlsym(library_, name));
    return function != nullptr;
  }

  void* library_ = nullptr;
};

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::sodium
