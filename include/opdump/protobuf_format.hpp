#pragma once
#include <cstdint>
#include <string_view>

#include "opdump/nano_encode.hpp"
#include "opdump/protobuf.hpp"
#include "opdump/record_format.hpp"

namespace opdump {
inline namespace OPDUMP_NAMESPACE {

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
/// Dtypes have protobuf's own numbers; one without any is 0. Source: CANN's dump_task.proto.
class ProtobufFormat final : public RecordFormat {
 public:
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
    for (const bool outputs : {true, false}) {
      record.for_each_tensor([&](const TensorView& tensor, bool is_output, std::uint32_t) {
        if (is_output != outputs || !is_tensor(tensor.address_kind)) return;
        to.add_message(is_output ? 3 : 4, [&](auto& fields) { add_tensor(fields, tensor, is_output); });
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
