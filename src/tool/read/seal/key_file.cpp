#include "src/tool/read/seal/key_file.hpp"

#include <algorithm>
#include <string_view>

#include "src/tool/cli/base64.hpp"
#include "src/tool/read/dump/mapped_file.hpp"

namespace opdump::tool {

std::string key_pem(SealKeyText::Kind kind, const SealKeyBytes& key) {
  const bool is_private = kind == SealKeyText::Kind::private_key;
  std::string der(is_private ? kPrivateKeyDer : kPublicKeyDer);
  der += as_text(key);
  const std::string what = is_private ? "PRIVATE KEY-----\n" : "PUBLIC KEY-----\n";
  return "-----BEGIN " + what + base64(as_bytes(der)) + "\n-----END " + what;
}

bool read_private_key(const std::string& path, SealKeyBytes& key, std::string& reason) {
  constexpr std::size_t kMostBytes = 65536;
  MappedFile file;
  if (!file.open(path)) {
    reason = file.error();
    return false;
  }
  const SealKeyText read =
      file.bytes().size() > kMostBytes ? SealKeyText{} : read_seal_key(as_text(file.bytes()));
  if (read.kind == SealKeyText::Kind::private_key) {
    key = read.key;
    return true;
  }
  reason = path + (read.kind == SealKeyText::Kind::public_key
                       ? ": holds a public key, and opening takes the private one"
                       : ": holds no private key of X25519, as 'opdump key new' and openssl write one");
  return false;
}

}  // namespace opdump::tool
