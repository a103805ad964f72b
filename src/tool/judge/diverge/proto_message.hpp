#pragma once
#include <bit>
#include <cstdint>
#include <string>
#include <string_view>

#include "opdump/base/bytes.hpp"
#include "opdump/parts/protobuf.hpp"

namespace opdump::tool {

/// Fields of a protobuf message, put together in memory. What is added is written, also where it is 0 or
/// empty.
class ProtoMessage {
 public:
  void add_number(std::uint32_t field, std::uint64_t value) {
    writer().add_varint(field << 3);
    writer().add_varint(value);
  }
  void add_float(std::uint32_t field, float value) {
    writer().add_varint(field << 3 | 5);
    std::byte bits[sizeof value];
    store_little_endian(bits, std::bit_cast<std::uint32_t>(value));
    out_.add(Bytes(bits));
  }
  void add_bytes(std::uint32_t field, Bytes bytes) {
    writer().add_varint(field << 3 | 2);
    writer().add_varint(bytes.size());
    out_.add(bytes);
  }
  void add_bytes(std::uint32_t field, std::string_view bytes) { add_bytes(field, as_bytes(bytes)); }
  void add_message(std::uint32_t field, const ProtoMessage& message) { add_bytes(field, message.bytes()); }

  /// Nothing for an empty text, and '_' for every byte beyond ASCII of one that is not UTF-8.
  void add_text(std::uint32_t field, std::string_view text) { writer().add_text(field, text); }

  const std::string& bytes() const { return out_.bytes; }

 private:
  struct Output {
    std::string bytes;
    void add(std::uint8_t byte) { bytes += static_cast<char>(byte); }
    void add(Bytes more) { bytes.append(reinterpret_cast<const char*>(more.data()), more.size()); }
  };

  ProtobufWriter<Output> writer() { return ProtobufWriter<Output>(out_); }

  Output out_;
};

}  // namespace opdump::tool
