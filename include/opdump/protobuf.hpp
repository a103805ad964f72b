#pragma once
#include <concepts>
#include <cstdint>
#include <string_view>

#include "opdump/bytes.hpp"

/// As much of protobuf's wire format as a dump record needs. Fields that are zero or empty are left out, as
/// proto3 has it. Source: protobuf's description of its encoding.

namespace opdump {
inline namespace OPDUMP_NAMESPACE {

/// Counts bytes in the place of a `ByteBatcher`.
class ByteCounter {
 public:
  void add(std::uint8_t) { ++bytes_; }
  void add(Bytes bytes) { bytes_ += bytes.size(); }
  std::uint64_t bytes() const { return bytes_; }

 private:
  std::uint64_t bytes_ = 0;
};

/// Whether `text` is UTF-8, which protobuf wants strings to be.
inline bool is_utf8(std::string_view text) {
  std::size_t follow = 0;
  std::uint32_t code = 0;
  std::uint32_t least = 0;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (follow != 0) {
      if ((byte & 0xc0) != 0x80) return false;
      code = code << 6 | (byte & 0x3fu);
      if (--follow == 0 && (code < least || code > 0x10ffff || (code >= 0xd800 && code < 0xe000)))
        return false;
    } else if (byte >= 0x80) {
      if (byte < 0xc0 || byte >= 0xf8) return false;
      follow = byte < 0xe0 ? 1 : byte < 0xf0 ? 2 : 3;
      code = byte & (0x3fu >> follow);
      constexpr std::uint32_t kLeast[] = {0, 0x80, 0x800, 0x10000};
      least = kLeast[follow];
    }
  }
  return follow == 0;
}

/// Writes fields to `Out`, a `ByteBatcher` or a `ByteCounter`.
template <class Out>
class ProtobufWriter {
 public:
  explicit ProtobufWriter(Out& out) : out_(out) {}

  void add_varint(std::uint64_t value) {
    for (; value >= 0x80; value >>= 7) out_.add(static_cast<std::uint8_t>(value | 0x80));
    out_.add(static_cast<std::uint8_t>(value));
  }

  void add_number(std::uint32_t field, std::uint64_t value) {
    if (value == 0) return;
    add_varint(field << 3);
    add_varint(value);
  }

  /// Negative numbers take ten bytes, whatever the field's width.
  void add_number(std::uint32_t field, std::int32_t value) {
    add_number(field, static_cast<std::uint64_t>(std::int64_t{value}));
  }

  /// With '_' for every byte beyond ASCII if the text is not UTF-8.
  void add_text(std::uint32_t field, std::string_view text) {
    if (text.empty()) return;
    add_length(field, text.size());
    if (is_utf8(text)) return out_.add(as_bytes(text));
    for (const char c : text) out_.add(static_cast<std::uint8_t>((c & 0x80) != 0 ? '_' : c));
  }

  /// `add_fields(writer)` writes the message's fields; it is called twice.
  void add_message(std::uint32_t field, auto add_fields) {
    add_length(field, message_bytes(add_fields));
    add_fields(*this);
  }

  /// Length of a message of these fields.
  static std::uint64_t message_bytes(auto add_fields) {
    ByteCounter counter;
    ProtobufWriter<ByteCounter> writer(counter);
    add_fields(writer);
    return counter.bytes();
  }

 private:
  void add_length(std::uint32_t field, std::uint64_t bytes) {
    add_varint(field << 3 | 2);
    add_varint(bytes);
  }

  Out& out_;
};

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump
