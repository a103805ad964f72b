#pragma once
#include <string>

#include "opdump/config/seal_key.hpp"
#include "src/tool/read/seal/unsealer.hpp"

namespace opdump::tool {

/// A key as the PEM text of openssl. Source: RFC 8410.
std::string key_pem(SealKeyText::Kind kind, const SealKeyBytes& key);

/// Reads the private key in the file `path`. False: `reason` says why not, "FILE: reason".
bool read_private_key(const std::string& path, SealKeyBytes& key, std::string& reason);

}  // namespace opdump::tool
