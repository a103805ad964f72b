#pragma once
#include <cstdint>

#include "opdump/base/bytes.hpp"

namespace opdump {
inline namespace OPDUMP_NAMESPACE {

enum class ProtoWire : std::uint8_t { varint = 0, fixed64 = 1, length = 2, fixed32 = 5 };

/// A field of an untrusted protobuf message.
struct ProtoField {
  std::uint32_t number = 0;
  ProtoWire wire = ProtoWire::varint;
  std::uint64_t value = 0;  ///< of a number
  Bytes bytes{};            ///< of a length-delimited field

  bool is_number(std::uint32_t of) const { return number == of && wire == ProtoWire::varint; }
  bool is_bytes(std::uint32_t of) const { return number == of && wire == ProtoWire::length; }
};

/// False if the number does not end within `in` or within 64 bits.
inline bool read_varint(ByteReader& in, std::uint64_t& value) {
  constexpr unsigned kMostBits = 64;
  value = 0;
  for (unsigned shift = 0; shift < kMostBits; shift += 7) {
    const std::uint8_t byte = in.read<std::uint8_t>();
    if (in.truncated()) return false;
    value |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
    if ((byte & 0x80) == 0) return true;
  }
  return false;
}

/// Takes the next field of a message. False at its end, and where the message is damaged: `good` then becomes
/// false. Groups, which protobuf has given up, count as damage.
inline bool next_field(ByteReader& in, ProtoField& field, bool& good) {
  if (!good || in.remaining() == 0) return false;
  std::uint64_t tag = 0;
  field = ProtoField{};
  good = read_varint(in, tag) && tag >> 3 != 0 && tag >> 32 == 0;
  field.number = static_cast<std::uint32_t>(tag >> 3);
  field.wire = static_cast<ProtoWire>(tag & 7);
  if (!good) return false;
  switch (field.wire) {
    case ProtoWire::varint:
      good = read_varint(in, field.value);
      break;
    case ProtoWire::length: {
      std::uint64_t length = 0;
      good = read_varint(in, length);
      field.bytes = in.take(length);
      break;
    }
    case ProtoWire::fixed64:
      field.value = in.read<std::uint64_t>();
      break;
    case ProtoWire::fixed32:
      field.value = in.read<std::uint32_t>();
      break;
    default:
      good = false;
  }
  good = good && !in.truncated();
  return good;
}

/// Calls `take(value)` for each number of a repeated field, whether they are packed or one by one. False where
/// the field is damaged or `take` returns false.
template <class Take>
bool read_numbers(const ProtoField& field, Take take) {
  if (field.wire != ProtoWire::length) return take(field.value);
  for (ByteReader packed(field.bytes); packed.remaining() != 0;) {
    std::uint64_t value = 0;
    if (!read_varint(packed, value) || !take(value)) return false;
  }
  return true;
}

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump
