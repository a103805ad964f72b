#pragma once
#include <cstddef>
#include <cstdint>
#include <span>

#include "opdump/base/bytes.hpp"
#include "opdump/format/nano.hpp"
#include "opdump/read/record_tensor.hpp"

namespace opdump {
inline namespace OPDUMP_NAMESPACE {

using NanoTensor = RecordTensor;

/// Whether the start of a file (16 bytes are enough) is that of a nano record.
inline bool is_nano(Bytes start) {
  return start.size() >= 12 && load_little_endian<std::uint32_t>(start.data() + 8) == kNanoMagic;
}

/// Reads an untrusted nano record. Needs the file's head in memory, not the tensors' bytes.
///
///     NanoReader reader;
///     Status status = reader.open(head, file_bytes);
///     for (NanoTensor tensor; reader.next(tensor);) ...
///     status = reader.status();
class NanoReader {
 public:
  /// `head` is the file from its start, at least up to the first tensor byte; `file_bytes` the length of the
  /// whole file. `not_a_record`, `truncated` (then `head_bytes()` says how much of the file is needed, unless
  /// the file itself is shorter) or `malformed`. Keeps a view of `head`.
  [[nodiscard]] Status open(Bytes head, std::uint64_t file_bytes) {
    status_ = open_checked(head, file_bytes);
    return status_;
  }

  /// Bytes from the start of the file to the first tensor byte.
  std::uint64_t head_bytes() const { return head_bytes_; }
  std::uint32_t version() const { return version_; }
  std::uint32_t input_count() const { return counts_[0]; }
  std::uint32_t output_count() const { return counts_[1]; }

  /// Gives the next tensor, inputs first. False after the last one, or after an error, which `status()` gives.
  bool next(NanoTensor& tensor) {
    if (status_ != Status::ok) return false;
    while (role_ < 2 && index_ == counts_[role_]) {
      if (records_[role_].remaining() != 0) return fail(Status::malformed, position());
      ++role_;
      index_ = 0;
    }
    if (role_ == 2) {
      if (data_offset_ != file_bytes_) return fail(Status::malformed, data_offset_);
      return false;
    }
    return read(tensor);
  }

  Status status() const { return status_; }

  /// Where in the file the reader stopped, for messages.
  std::uint64_t error_offset() const { return error_offset_; }

 private:
  Status open_checked(Bytes head, std::uint64_t file_bytes) {
    *this = NanoReader();
    file_bytes_ = file_bytes;
    if (!is_nano(head) || file_bytes < head.size()) return Status::not_a_record;
    const std::uint64_t length = load_little_endian<std::uint64_t>(head.data());
    if (length < 8 || length > file_bytes - kNanoHeadLengthBytes) return Status::truncated;
    head_bytes_ = kNanoHeadLengthBytes + length;
    if (head.size() < head_bytes_) return Status::truncated;
    file_ = head.data();
    ByteReader reader(head.first(static_cast<std::size_t>(head_bytes_)).subspan(12));
    version_ = reader.read<std::uint32_t>();
    for (const int role : {0, 1}) {
      // Either list may be left out.
      const ByteReader before = reader;
      const std::uint32_t tag = reader.read<std::uint32_t>();
      const Bytes value = reader.take(reader.read<std::uint32_t>());
      if (tag != (role == 0 ? kNanoTagInputs : kNanoTagOutputs)) {
        reader = before;
        continue;
      }
      if (reader.truncated()) return Status::truncated;
      records_[role] = ByteReader(value);
      starts_[role] = static_cast<std::uint64_t>(value.data() - file_);
      counts_[role] = records_[role].read<std::uint32_t>();
      if (records_[role].truncated()) return Status::truncated;
    }
    data_offset_ = head_bytes_;
    return open_positions(reader);
  }

  /// Bytes after the lists that are not this TLV are ignored, as in the vendor's reader.
  Status open_positions(ByteReader& reader) {
    if (reader.read<std::uint32_t>() != kNanoTagPositions) return Status::ok;
    const Bytes value = reader.take(reader.read<std::uint32_t>());
    if (reader.truncated()) return Status::ok;
    if (value.size() != (std::uint64_t{counts_[0]} + counts_[1]) * 4) {
      error_offset_ = static_cast<std::uint64_t>(value.data() - file_);
      return Status::malformed;
    }
    positions_ = ByteReader(value);
    return Status::ok;
  }

  /// Positions ascend, so that no two tensors share one.
  bool read_position(std::uint32_t& position) {
    position = index_;
    if (positions_.remaining() == 0) return true;
    position = positions_.read<std::uint32_t>();
    const bool ascends = position >= index_ && (index_ == 0 || position > last_position_);
    last_position_ = position;
    return ascends;
  }

  bool read(NanoTensor& tensor) {
    ByteReader& in = records_[role_];
    error_offset_ = position();
    tensor = NanoTensor{};
    tensor.is_output = role_ == 1;
    if (!read_position(tensor.index)) return fail(Status::malformed, error_offset_);
    tensor.dtype_code = read_i32(in);
    tensor.format = static_cast<Format>(read_i32(in));
    tensor.address_kind = static_cast<AddressKind>(read_i32(in));
    if (tensor.is_output) {
      tensor.original_index = read_i32(in);
      tensor.original_dtype_code = read_i32(in);
      tensor.original_format = static_cast<Format>(read_i32(in));
    }
    tensor.address = in.read<std::uint64_t>();
    tensor.offset = in.read<std::uint64_t>();
    tensor.bytes = in.read<std::uint64_t>();
    ByteReader tlvs(in.take(in.read<std::uint32_t>()));
    if (in.truncated()) return fail(Status::truncated, error_offset_);
    while (tlvs.remaining() != 0) {
      const std::uint32_t tag = tlvs.read<std::uint32_t>();
      const Bytes value = tlvs.take(tlvs.read<std::uint32_t>());
      if (tlvs.truncated()) return fail(Status::truncated, error_offset_);
      bool good = true;
      if (tag == kNanoTagShape) good = read_dims(value, tensor.dims, tensor.rank, tensor.has_shape);
      if (tag == kNanoTagOriginalShape) {
        good = read_dims(value, tensor.original_dims, tensor.original_rank, tensor.has_original_shape);
      }
      if (tag == kNanoTagOriginalName) tensor.original_name = as_text(value);
      if (!good) return fail(Status::malformed, error_offset_);
    }
    const Result<DType> dtype = dtype_from_ge_code(tensor.dtype_code);
    tensor.dtype_known = dtype.ok();
    if (dtype.ok()) tensor.dtype = dtype.value();
    const Result<DType> original = dtype_from_ge_code(tensor.original_dtype_code);
    if (tensor.is_output && original.ok()) tensor.original_dtype = original.value();
    tensor.data_offset = data_offset_;
    if (tensor.bytes > file_bytes_ - data_offset_) return fail(Status::truncated, data_offset_);
    data_offset_ += tensor.bytes;
    ++index_;
    return true;
  }

  static std::int32_t read_i32(ByteReader& in) { return static_cast<std::int32_t>(in.read<std::uint32_t>()); }

  static bool read_dims(Bytes value, Dim (&dims)[kMaxRank], std::uint8_t& rank, bool& present) {
    if (value.size() % 8 != 0 || value.size() / 8 > kMaxRank || present) return false;
    present = true;
    rank = static_cast<std::uint8_t>(value.size() / 8);
    for (std::size_t i = 0; i < rank; ++i) dims[i] = load_little_endian<std::uint64_t>(value.data() + 8 * i);
    return true;
  }

  std::uint64_t position() const { return starts_[role_] + records_[role_].position(); }

  bool fail(Status status, std::uint64_t offset) {
    status_ = status;
    error_offset_ = offset;
    return false;
  }

  const std::byte* file_ = nullptr;
  std::uint64_t file_bytes_ = 0;
  std::uint64_t head_bytes_ = 0;
  std::uint64_t data_offset_ = 0;
  std::uint64_t error_offset_ = 0;
  std::uint32_t version_ = 0;
  std::uint32_t counts_[2] = {0, 0};
  ByteReader records_[2] = {ByteReader({}), ByteReader({})};
  std::uint64_t starts_[2] = {0, 0};
  ByteReader positions_{Bytes{}};  ///< of the tensors still to read; empty: they are consecutive
  std::uint32_t last_position_ = 0;
  int role_ = 0;
  std::uint32_t index_ = 0;
  Status status_ = Status::not_a_record;
};

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump
