#pragma once
#include <concepts>
#include <cstdint>
#include <string_view>

#include "opdump/base/byte_output.hpp"
#include "opdump/base/bytes.hpp"
#include "opdump/impl/record/part_interfaces.hpp"
#include "opdump/types/overflow.hpp"

/// The part of protobuf's wire format that a dump record needs. Fields that are zero or empty are left out,
/// as proto3 has it. Source: protobuf's description of its encoding.

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

/// Whether `text` is UTF-8, which protobuf requires of strings.
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

  /// Writes '_' for every byte beyond ASCII if the text is not UTF-8.
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

/// CANN's protobuf record, which its servers write. Little endian:
///
///     u64 bytes of the message
///     message DumpData
///     the tensors' bytes: inputs in order, then outputs in order, then workspaces in order
///
///     DumpData    1 version "2.0", 2 time in microseconds, 3 outputs, 4 inputs, 6 operator's name,
///                 7 attributes, 8 workspaces; these two of operators that failed
///     output      1 dtype, 2 format, 3 shape, 4 original operator, 6 bytes, 7 original shape, 9 address
///     input       1 dtype, 2 format, 3 shape, 5 bytes, 6 original shape, 8 address
///     shape       1 dims
///     original operator  1 name, 2 output's index, 3 dtype, 4 format
///     attribute   1 name, 2 value
///     workspace   3 bytes
///
/// An input or output also has 1000, opdump's own: its position among those of the operator, from 1 on. Only
/// where the file lacks tensors that come before others. Readers of CANN's message pass over it.
///
/// Dtypes have protobuf's own numbers; one without any is 0. Source: CANN's dump_task.proto.
class ProtobufFormat final : public RecordFormat {
 public:
  static constexpr std::uint32_t kPositionField = 1000;

  bool one_tensor() const override { return false; }

  std::string_view suffix(const RecordView& /*record*/, const DumpTarget& /*target*/,
                          std::span<char> /*memory*/) const override {
    return {};
  }

  [[nodiscard]] Status begin(OpenObject& object, FormatState& /*state*/, const RecordView& record, Bytes data,
                             MutableBytes scratch) override {
    Status status = Status::ok;
    ByteBatcher head(scratch, [&](Bytes bytes) {
      if (status == Status::ok) status = object.put(bytes);
    });
    head.add(message_bytes(record));
    ProtobufWriter writer(head);
    add_dump_data(writer, record);
    if (status != Status::ok) return status;
    const Bytes parts[] = {head.pending(), data};
    return object.put(parts);
  }

  [[nodiscard]] Status append(OpenObject& object, FormatState& /*state*/, Bytes data) override {
    return object.put(data);
  }

  [[nodiscard]] Status put_report(OpenObject& object, const OverflowReport& /*report*/) override {
    object.abort();
    return Status::not_supported;
  }

  /// Bytes of the message for `record`, which answers as a RecordView does.
  static std::uint64_t message_bytes(const auto& record) {
    return ProtobufWriter<ByteCounter>::message_bytes([&record](auto& to) { add_dump_data(to, record); });
  }

 private:
  static void add_dump_data(auto& to, const auto& record) {
    to.add_text(1, "2.0");
    to.add_number(2, record.head().unix_us);
    std::uint32_t counts[2] = {0, 0};
    bool has_gaps = false;
    record.for_each_tensor([&](const TensorView&, bool is_output, std::uint32_t index) {
      has_gaps = has_gaps || index != counts[is_output]++;
    });
    for (const bool outputs : {true, false}) {
      record.for_each_tensor([&](const TensorView& tensor, bool is_output, std::uint32_t index) {
        if (is_output != outputs || !is_tensor(tensor.address_kind)) return;
        to.add_message(is_output ? 3 : 4, [&](auto& fields) {
          add_tensor(fields, tensor, is_output);
          if (has_gaps) fields.add_number(kPositionField, std::uint64_t{index} + 1);
        });
      });
    }
    to.add_text(6, record.name());
    std::string_view name;
    record.for_each_tensor([&](const TensorView& part, bool, std::uint32_t) {
      const std::string_view text = part.original_name.substr(0, static_cast<std::size_t>(part.address));
      if (part.address_kind == AddressKind::attribute_name) name = text;
      if (part.address_kind != AddressKind::attribute_value) return;
      to.add_message(7, [&](auto& fields) {
        fields.add_text(1, name);
        fields.add_text(2, text);
      });
    });
    record.for_each_tensor([&](const TensorView& part, bool, std::uint32_t) {
      if (part.address_kind != AddressKind::workspace) return;
      to.add_message(8, [&](auto& fields) { fields.add_number(3, part.bytes); });
    });
  }

  static void add_tensor(auto& to, const TensorView& tensor, bool is_output) {
    to.add_number(1, code_of(tensor.dtype));
    to.add_number(2, static_cast<std::int32_t>(tensor.format));
    add_shape(to, 3, tensor.shape);
    if (is_output) {
      to.add_message(4, [&](auto& fields) {
        fields.add_text(1, tensor.original_name);
        fields.add_number(2, tensor.original_index);
        fields.add_number(3, code_of(tensor.original_dtype));
        fields.add_number(4, static_cast<std::int32_t>(tensor.original_format));
      });
    }
    to.add_number(is_output ? 6 : 5, tensor.bytes);
    add_shape(to, is_output ? 7 : 6, tensor.original_shape);
    to.add_number(is_output ? 9 : 8, tensor.address);
  }

  static void add_shape(auto& to, std::uint32_t field, Shape shape) {
    to.add_message(field, [&](auto& fields) {
      if (shape.empty()) return;
      fields.add_message(1, [&](auto& packed) {
        for (const Dim dim : shape) packed.add_varint(dim);
      });
    });
  }

  static std::int32_t code_of(DType dtype) {
    const std::int32_t code = info(dtype).proto_code;
    return code < 0 ? 0 : code;
  }
};

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump
