#pragma once
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "opdump/base/bytes.hpp"

namespace opdump {
inline namespace OPDUMP_NAMESPACE {

/// Writes little-endian fields one after another, to memory with room for all of them.
class FieldWriter {
 public:
  explicit FieldWriter(std::byte* at) : at_(at) {}

  template <std::unsigned_integral T>
  [[gnu::always_inline]] FieldWriter& add(T value) {
    store_little_endian(at_, value);
    at_ += sizeof value;
    return *this;
  }

  [[gnu::always_inline]] FieldWriter& add(std::int32_t value) {
    return add(static_cast<std::uint32_t>(value));
  }

 private:
  std::byte* at_;
};

/// Passes bytes on in pieces as large as its memory; the last piece stays `pending()`. `Put` is `void(Bytes)`.
template <class Put>
class ByteBatcher {
 public:
  ByteBatcher(MutableBytes memory, Put put) : memory_(memory), put_(put) {}

  template <std::unsigned_integral T>
  void add(T value) {
    std::byte little_endian[sizeof(T)];
    store_little_endian(little_endian, value);
    add(Bytes(little_endian));
  }

  /// Adds the fields that `write(FieldWriter)` writes, `kBytes` bytes in all.
  template <std::size_t kBytes, class Write>
  void add_fields(Write write) {
    std::byte fields[kBytes];
    write(FieldWriter(fields));
    add(Bytes(fields));
  }

  void add(Bytes bytes) {
    while (!bytes.empty()) {
      if (used_ == memory_.size()) flush();
      const std::size_t room = memory_.size() - used_;
      const std::size_t now = bytes.size() < room ? bytes.size() : room;
      copy_bytes(memory_.data() + used_, bytes.first(now));
      used_ += now;
      bytes = bytes.subspan(now);
    }
  }

  /// Adds `text` with '_' for every byte that is not ASCII.
  void add_ascii(std::string_view text) {
    for (const char c : text) add(static_cast<std::uint8_t>((c & 0x80) != 0 ? '_' : c));
  }

  Bytes pending() const { return memory_.first(used_); }

 private:
  void flush() {
    put_(pending());
    used_ = 0;
  }

  MutableBytes memory_;
  std::size_t used_ = 0;
  Put put_;
};

/// As ByteBatcher, but writes to memory with room for all bytes.
class ByteCursor {
 public:
  explicit ByteCursor(std::byte* at) : at_(at) {}

  template <std::size_t kBytes, class Write>
  void add_fields(Write write) {
    std::byte* const at = at_;
    at_ = at + kBytes;
    write(FieldWriter(at));
  }

  void add_ascii(std::string_view text) {
    std::byte* at = at_;
    for (const char c : text) *at++ = static_cast<std::byte>((c & 0x80) != 0 ? '_' : c);
    at_ = at;
  }

 private:
  std::byte* at_;
};

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump
