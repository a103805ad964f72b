#pragma once
#include <cstddef>
#include <cstdint>
#include <string>

#include "opdump/base/bytes.hpp"
#include "opdump/format/sealed.hpp"
#include "src/card/hexadecimal.hpp"

namespace opdump::tool {

/// What tells one public key from another for people: its first bytes.
inline std::string key_id_text(Bytes key) {
  return cards::hexadecimal(key.first(sealed::kKeyIdBytes));
}

/// Whether `bytes` begin as a stream of a sealed file does.
inline bool begins_stream(Bytes bytes) {
  return as_text(bytes).starts_with(sealed::kMagic);
}

/// The head of a stream, which nobody has authenticated yet. `bytes` has at least sealed::kHeadBytes.
class SealedHead {
 public:
  explicit SealedHead(Bytes bytes) : bytes_(bytes.first(sealed::kHeadBytes)) {}

  Bytes bytes() const { return bytes_; }
  unsigned version() const { return std::to_integer<unsigned>(bytes_[sealed::kVersionOffset]); }
  std::byte kind() const { return bytes_[sealed::kKindOffset]; }
  std::uint32_t most() const { return word(sealed::kMostOffset); }
  std::uint32_t stream() const { return word(sealed::kStreamOffset); }
  Bytes key_id() const { return bytes_.subspan(sealed::kKeyIdOffset, sealed::kKeyIdBytes); }
  SealKey ephemeral() const { return bytes_.subspan<sealed::kEphemeralOffset, kSealKeyBytes>(); }

 private:
  std::uint32_t word(std::size_t offset) const {
    return load_little_endian<std::uint32_t>(bytes_.data() + offset);
  }

  Bytes bytes_;
};

}  // namespace opdump::tool
