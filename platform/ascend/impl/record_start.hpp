#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "opdump/base/bytes.hpp"
#include "opdump/read/nano_reader.hpp"
#include "opdump/read/proto_reader.hpp"

namespace opdump::ascend {
inline namespace OPDUMP_NAMESPACE {

/// What the head of a record says, as far as the first chunk of its file holds it. Refers to the chunk.
class RecordStart {
 public:
  RecordStart() = default;
  explicit RecordStart(Bytes start) {
    if (is_nano(start)) {
      read_nano(start);
    } else {
      read_proto(start);
    }
  }

  /// Whether the head says how long the file is: from `least` to `most` bytes. Tensors without an address,
  /// buffers and workspaces may lack their bytes, as CANN leaves out what it cannot reach.
  bool known() const { return known_; }
  std::uint64_t least() const { return least_; }
  std::uint64_t most() const { return most_; }

  /// The operator's name as the model has it; empty: the head does not say.
  std::string_view op_name() const { return op_name_; }

  /// The first names of operators that were fused into this one.
  std::span<const std::string_view> original_names() const { return {originals_.data(), original_count_}; }

 private:
  template <class Reader>
  void add_tensors(Reader& reader) {
    for (RecordTensor tensor; reader.next(tensor);) {
      ++tensors_;
      most_ = tensor.data_offset + tensor.bytes;
      if (tensor.address != 0) least_ += tensor.bytes;
      if (!tensor.original_name.empty() && original_count_ < originals_.size())
        originals_[original_count_++] = tensor.original_name;
    }
  }

  void read_nano(Bytes start) {
    NanoReader reader;
    if (reader.open(start, UINT64_MAX) != Status::ok) return;
    most_ = reader.head_bytes();
    add_tensors(reader);
    // The reader then misses the end of a file whose length is not known yet.
    known_ = tensors_ == std::uint64_t{reader.input_count()} + reader.output_count();
    least_ = most_;
  }

  void read_proto(Bytes start) {
    ProtoReader reader;
    if (reader.open(start, UINT64_MAX) != Status::ok) return;
    least_ = most_ = reader.head_bytes();
    op_name_ = reader.op_name();
    add_tensors(reader);
    for (RecordBlob blob; reader.next(blob);) most_ = blob.data_offset + blob.bytes;
    known_ = reader.status() == Status::ok;
  }

  std::string_view op_name_{};
  std::array<std::string_view, 16> originals_{};
  std::size_t original_count_ = 0;
  std::uint64_t tensors_ = 0;
  std::uint64_t least_ = 0;
  std::uint64_t most_ = UINT64_MAX;
  bool known_ = false;
};

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::ascend
