#pragma once
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "opdump/base/bytes.hpp"
#include "opdump/read/proto_wire.hpp"
#include "opdump/read/record_tensor.hpp"

namespace opdump {
inline namespace OPDUMP_NAMESPACE {

/// Bytes of a protobuf record that are not a tensor's: a buffer on the chip, or an operator's workspace.
struct RecordBlob {
  enum class Kind { buffer, workspace };
  Kind kind = Kind::buffer;
  std::uint32_t index = 0;  ///< within its kind
  std::int32_t type = 0;    ///< of a buffer: 0 is the L1 buffer
  std::uint64_t bytes = 0;
  std::uint64_t data_offset = 0;  ///< in the file
};

/// Reads an untrusted protobuf dump record, CANN's format for servers: a u64 with the length of a message
/// `DumpData`, the message, then the bytes of inputs, outputs, buffers and workspaces. Bytes behind them are
/// allowed. Needs the file up to the end of the message in memory. Unknown fields are skipped. Like every
/// protobuf reader it takes the last value of a field that is not a list.
///
///     ProtoReader reader;
///     Status status = reader.open(head, file_bytes);
///     for (RecordTensor tensor; reader.next(tensor);) ...
///     for (RecordBlob blob; reader.next(blob);) ...
///     status = reader.status();
///
/// Source of the format: the messages of CANN's dump_task.proto.
class ProtoReader {
 public:
  /// `head` is the file from its start; `file_bytes` the length of the whole file. `truncated` (then
  /// `head_bytes()` says how much of the file is needed, unless the file itself is shorter), `not_a_record`
  /// when the message has nothing that a DumpData has, or `malformed`. Keeps a view of `head`.
  [[nodiscard]] Status open(Bytes head, std::uint64_t file_bytes) {
    *this = ProtoReader();
    file_bytes_ = file_bytes;
    status_ = open_checked(head);
    return status_;
  }

  /// Bytes from the start of the file to the first tensor byte.
  std::uint64_t head_bytes() const { return head_bytes_; }
  std::uint64_t dump_time() const { return dump_time_; }

  /// The texts refer to `head`.
  std::string_view version() const { return version_; }
  std::string_view op_name() const { return op_name_; }

  /// Gives the next tensor, inputs first. False after the last one, or after an error, which `status()` gives.
  bool next(RecordTensor& tensor) {
    for (; part_ < kBufferPart; start_part()) {
      for (ProtoField field; next_in(message_, field);) {
        if (!field.is_bytes(kPartFields[part_])) continue;
        return read(field.bytes, tensor);
      }
      if (status_ != Status::ok) return false;
    }
    return false;
  }

  /// Gives the next buffer or workspace, buffers first. Call it only after `next(RecordTensor&)` has returned false.
  bool next(RecordBlob& blob) {
    for (; part_ < kParts; start_part()) {
      for (ProtoField field; next_in(message_, field);) {
        if (!field.is_bytes(kPartFields[part_])) continue;
        return read(field.bytes, blob);
      }
      if (status_ != Status::ok) return false;
    }
    return false;
  }

  Status status() const { return status_; }

  /// Where in the file the reader stopped, for messages.
  std::uint64_t error_offset() const { return error_offset_; }

 private:
  /// See ProtobufFormat.
  static constexpr std::uint32_t kPositionField = 1000;

  // Parts in the order of their bytes in the file, with their field numbers in DumpData.
  static constexpr int kBufferPart = 2;
  static constexpr int kParts = 4;
  static constexpr std::uint32_t kPartFields[kParts] = {4, 3, 5, 8};

  Status open_checked(Bytes head) {
    constexpr std::size_t kLengthBytes = 8;
    if (head.size() < kLengthBytes || file_bytes_ < head.size()) return Status::not_a_record;
    const std::uint64_t length = load_little_endian<std::uint64_t>(head.data());
    if (length > file_bytes_ - kLengthBytes) return Status::truncated;
    head_bytes_ = kLengthBytes + length;
    if (head.size() < head_bytes_) return Status::truncated;
    file_ = head.data();
    whole_ = head.subspan(kLengthBytes, static_cast<std::size_t>(length));
    data_offset_ = head_bytes_;
    status_ = Status::ok;
    bool known = false;
    start_message();
    for (ProtoField field; next_in(message_, field);) {
      if (field.is_bytes(1)) version_ = as_text(field.bytes);
      if (field.is_number(2)) dump_time_ = field.value;
      if (field.is_bytes(6)) op_name_ = as_text(field.bytes);
      known |= field.is_number(2) || (field.number >= 1 && field.number <= 8 && field.number != 2 &&
                                      field.wire == ProtoWire::length);
    }
    if (status_ != Status::ok) return status_;
    if (!known) return Status::not_a_record;
    start_message();
    return Status::ok;
  }

  void start_message() { message_ = ByteReader(whole_); }

  void start_part() {
    ++part_;
    index_ = 0;
    start_message();
  }

  bool read(Bytes message, RecordTensor& tensor) {
    tensor = RecordTensor{};
    tensor.is_output = part_ == 1;
    tensor.index = index_++;
    // A missing field is 0.
    tensor.format = static_cast<Format>(0);
    tensor.original_format = static_cast<Format>(0);
    // Outputs have one more field behind the third than inputs, so later fields have higher numbers.
    const std::uint32_t shift = tensor.is_output ? 1 : 0;
    ByteReader in(message);
    bool good = true;
    for (ProtoField field; good && next_in(in, field);) {
      if (field.is_number(1)) tensor.dtype_code = number(field);
      if (field.is_number(2)) tensor.format = static_cast<Format>(number(field));
      if (field.is_bytes(3)) good = read_dims(field.bytes, tensor.dims, tensor.rank);
      if (tensor.is_output && field.is_bytes(4)) read_original(field.bytes, tensor);
      if (field.is_number(5 + shift)) tensor.bytes = field.value;
      if (field.is_bytes(6 + shift))
        good = read_dims(field.bytes, tensor.original_dims, tensor.original_rank);
      if (field.is_number(7 + shift)) tensor.sub_format = number(field);
      if (field.is_number(8 + shift)) tensor.address = field.value;
      if (field.is_number(tensor.is_output ? 11u : 9u)) tensor.offset = field.value;
      if (field.is_number(kPositionField)) good = take_position(field.value, tensor);
    }
    if (!good || status_ != Status::ok) return fail(message);
    tensor.has_shape = true;  // a message cannot tell a scalar's shape from a missing one
    tensor.has_original_shape = tensor.original_rank != 0;
    const Result<DType> dtype = dtype_from_proto_code(tensor.dtype_code);
    tensor.dtype_known = dtype.ok();
    if (dtype.ok()) tensor.dtype = dtype.value();
    const Result<DType> original = dtype_from_proto_code(tensor.original_dtype_code);
    if (tensor.is_output && original.ok()) tensor.original_dtype = original.value();
    return place(tensor.bytes, tensor.data_offset);
  }

  bool read(Bytes message, RecordBlob& blob) {
    blob = RecordBlob{};
    blob.kind = part_ == kBufferPart ? RecordBlob::Kind::buffer : RecordBlob::Kind::workspace;
    blob.index = index_++;
    ByteReader in(message);
    for (ProtoField field; next_in(in, field);) {
      if (field.is_number(1)) blob.type = number(field);
      if (field.is_number(3)) blob.bytes = field.value;
    }
    if (status_ != Status::ok) return fail(message);
    return place(blob.bytes, blob.data_offset);
  }

  bool place(std::uint64_t bytes, std::uint64_t& offset) {
    offset = data_offset_;
    if (bytes > file_bytes_ - data_offset_) {
      status_ = Status::truncated;
      error_offset_ = data_offset_;
      return false;
    }
    data_offset_ += bytes;
    return true;
  }

  /// Positions ascend, so that no two tensors share one.
  bool take_position(std::uint64_t position, RecordTensor& tensor) {
    if (position < index_ || position > UINT32_MAX) return false;
    index_ = static_cast<std::uint32_t>(position);
    tensor.index = index_ - 1;
    return true;
  }

  void read_original(Bytes message, RecordTensor& tensor) {
    ByteReader in(message);
    for (ProtoField field; next_in(in, field);) {
      if (field.is_bytes(1)) tensor.original_name = as_text(field.bytes);
      if (field.is_number(2)) tensor.original_index = number(field);
      if (field.is_number(3)) tensor.original_dtype_code = number(field);
      if (field.is_number(4)) tensor.original_format = static_cast<Format>(number(field));
    }
  }

  /// Dims may be packed or one by one.
  bool read_dims(Bytes message, Dim (&dims)[kMaxRank], std::uint8_t& rank) {
    ByteReader in(message);
    for (ProtoField field; next_in(in, field);) {
      if (!field.is_number(1) && !field.is_bytes(1)) continue;
      const auto take = [&](std::uint64_t dim) {
        if (rank == kMaxRank) return false;
        dims[rank++] = dim;
        return true;
      };
      if (!read_numbers(field, take)) return false;
    }
    return true;
  }

  static std::int32_t number(const ProtoField& field) { return static_cast<std::int32_t>(field.value); }

  bool next_in(ByteReader& in, ProtoField& field) {
    const std::size_t before = in.remaining();
    bool good = status_ == Status::ok;
    if (next_field(in, field, good)) return true;
    if (status_ != Status::ok || good) return false;
    status_ = Status::malformed;
    error_offset_ = head_bytes_ - before;  // of the outer message; in an inner one, `fail` corrects it
    return false;
  }

  bool fail(Bytes message) {
    status_ = Status::malformed;
    error_offset_ = static_cast<std::uint64_t>(message.data() - file_);
    return false;
  }

  const std::byte* file_ = nullptr;
  Bytes whole_{};
  ByteReader message_{Bytes{}};
  std::uint64_t file_bytes_ = 0;
  std::uint64_t head_bytes_ = 0;
  std::uint64_t data_offset_ = 0;
  std::uint64_t error_offset_ = 0;
  std::uint64_t dump_time_ = 0;
  std::string_view version_{};
  std::string_view op_name_{};
  int part_ = 0;
  std::uint32_t index_ = 0;
  Status status_ = Status::not_a_record;
};

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump
