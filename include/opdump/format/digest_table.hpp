#pragma once
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "opdump/base/bytes.hpp"
#include "opdump/base/text.hpp"

/// The file of a dump's digests, `opdump.{device}.{id}.digests`, beside the journal of that device and id. It
/// is a sequence of pieces, each of which was written at once; a crash may cut the last one short, and a
/// flash log that goes round takes the first ones.
///
///     piece      u8 kDigestMagic, u8 digest (1 CRC-32C, 2 XXH3 of 64 bits, 3 MD5), number of bytes that
///                follow, entries
///     number     7 bits per byte, the lowest first; all bytes but the last have 128 added
///     text       number of bytes, the bytes
///
/// An entry begins with a number:
///
///     0          the step of the records that follow: numbers load (which loading of a model, from 1; 0:
///                none), step, time in milliseconds since `id`, which is in microseconds. In each piece
///                before the first record.
///     1          an operator: number by which records call it, from 2 on; numbers in_model (0 or 1),
///                model id, task, stream; texts model, type, name; numbers of inputs and of outputs; of each
///                tensor the numbers index, dtype (DType), format, bytes, rank and dims. It holds until that
///                number is given to another one.
///     n          a record of operator n: the digest of each tensor, inputs first, low bytes first
///
/// Operators are told again now and then, so that a log that has lost its beginning has their names. A digest
/// is that of the tensor's elements, without padding, as the device has them.

namespace opdump {
inline namespace OPDUMP_NAMESPACE {

inline constexpr std::uint8_t kDigestMagic = 0xd1;
inline constexpr std::string_view kDigestSuffix = ".digests";
inline constexpr std::uint32_t kDigestStep = 0;
inline constexpr std::uint32_t kDigestOp = 1;
inline constexpr std::uint32_t kFirstDigestOp = 2;

/// Writes entries to memory of fixed size.
class DigestWriter {
 public:
  explicit DigestWriter(MutableBytes memory) : memory_(memory) {}

  DigestWriter& number(std::uint64_t value) {
    for (; value >= 0x80; value >>= 7) put(static_cast<std::byte>(value | 0x80));
    put(static_cast<std::byte>(value));
    return *this;
  }

  DigestWriter& text(std::string_view text) { return number(text.size()).bytes(as_bytes(text)); }

  DigestWriter& bytes(Bytes bytes) {
    overflowed_ = overflowed_ || bytes.size() > memory_.size() - used_;
    if (overflowed_) return *this;
    copy_bytes(memory_.data() + used_, bytes);
    used_ += bytes.size();
    return *this;
  }

  /// Whether there was no room for something; from then on nothing is written.
  bool overflowed() const { return overflowed_; }
  std::size_t used() const { return used_; }

 private:
  void put(std::byte byte) { bytes({&byte, 1}); }

  MutableBytes memory_;
  std::size_t used_ = 0;
  bool overflowed_ = false;
};

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump
