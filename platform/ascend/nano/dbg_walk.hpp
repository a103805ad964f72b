#pragma once
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "opdump/base/bytes.hpp"
#include "opdump/base/status.hpp"
#include "opdump/types/tensor.hpp"

/// A walk through the bytes of a `.dbg` file, which describes the operators of one model of a nano device.
/// Allocates and copies nothing. Little endian, no padding:
///
///     u32 version 0, u32 magic 0x5A5A5A5A
///     TLV 0: name of the model
///     TLV 1: u32 count, then `count` operators
///
///     operator       u32 task, u32 stream, u32 logical stream, i32 kind of task, u32 blocks, u8, u32 bytes
///                    of TLVs, TLVs 0 (name), 1 (type), 4 (inputs), 5 (outputs), and others that are passed over
///     TLV 4, TLV 5   as in a nano record, see opdump/format/nano.hpp
///
/// Source: the vendor's model saver and its executor, and a file in the tests of its device part.

namespace opdump::nano {
inline namespace OPDUMP_NAMESPACE {

inline constexpr std::uint32_t kDbgMagic = 0x5a5a5a5a;
inline constexpr std::size_t kDbgHeadBytes = 8;
inline constexpr std::uint32_t kDbgTagName = 0;
inline constexpr std::uint32_t kDbgTagOps = 1;
inline constexpr std::uint32_t kOpTagName = 0;
inline constexpr std::uint32_t kOpTagType = 1;
inline constexpr std::uint32_t kOpTagInputs = 4;
inline constexpr std::uint32_t kOpTagOutputs = 5;
inline constexpr std::uint32_t kTensorTagShape = 0;

/// Whether `bytes` begin as a `.dbg` file does.
inline bool begins_as_dbg(Bytes bytes) {
  return bytes.size() >= kDbgHeadBytes && load_little_endian<std::uint32_t>(bytes.data() + 4) == kDbgMagic;
}

struct Tlv {
  std::uint32_t tag = 0;
  Bytes value{};
  Bytes whole{};  ///< with its head
};

/// Walks through TLVs that lie one behind another.
class TlvWalk {
 public:
  explicit TlvWalk(Bytes bytes) : bytes_(bytes), in_(bytes) {}

  /// False at the end, and where a TLV does not fit: then `whole()` is false.
  bool next(Tlv& tlv) {
    if (in_.remaining() == 0 || in_.truncated()) return false;
    const std::size_t from = in_.position();
    tlv.tag = in_.read<std::uint32_t>();
    tlv.value = in_.take(in_.read<std::uint32_t>());
    if (in_.truncated()) return false;
    tlv.whole = bytes_.subspan(from, in_.position() - from);
    return true;
  }

  bool whole() const { return !in_.truncated(); }

 private:
  Bytes bytes_;
  ByteReader in_;
};

/// One input or output as it is described.
struct TensorDescription {
  std::int32_t dtype_code = 0;
  Format format = Format::nd;
  AddressKind kind = AddressKind::traditional;
  std::uint64_t address = 0;  ///< what it means depends on `kind`
  std::uint64_t bytes = 0;
  Bytes dims{};  ///< a u64 per dim; not aligned
};

/// Walks through a list of inputs or outputs.
class TensorWalk {
 public:
  /// `list` is TLV 4 or 5 with its head, or empty.
  TensorWalk(Bytes list, bool outputs) : in_(list), outputs_(outputs) {
    if (list.empty()) return;
    in_.take(8);
    count_ = left_ = in_.read<std::uint32_t>();
  }

  std::uint32_t count() const { return count_; }

  /// False at the end, and where a tensor does not fit: then `whole()` is false.
  bool next(TensorDescription& tensor) {
    if (left_ == 0 || in_.truncated()) return false;
    --left_;
    tensor.dtype_code = static_cast<std::int32_t>(in_.read<std::uint32_t>());
    tensor.format = static_cast<Format>(in_.read<std::uint32_t>());
    tensor.kind = static_cast<AddressKind>(in_.read<std::uint32_t>());
    if (outputs_) in_.take(12);
    tensor.address = in_.read<std::uint64_t>();
    in_.take(8);
    tensor.bytes = in_.read<std::uint64_t>();
    const std::uint32_t more = in_.read<std::uint32_t>();
    TlvWalk tlvs(in_.take(more));
    tensor.dims = {};
    for (Tlv tlv; tlvs.next(tlv);) {
      if (tlv.tag == kTensorTagShape) tensor.dims = tlv.value;
    }
    fits_ = fits_ && tlvs.whole() && tensor.dims.size() % sizeof(Dim) == 0;
    return fits_ && !in_.truncated();
  }

  /// After the last tensor: whether the list was as long as it says.
  bool whole() const { return fits_ && left_ == 0 && !in_.truncated() && in_.remaining() == 0; }

 private:
  ByteReader in_;
  bool outputs_;
  bool fits_ = true;
  std::uint32_t count_ = 0;
  std::uint32_t left_ = 0;
};

/// One operator as it is described. Refers to the file.
struct OpDescription {
  std::uint32_t task_id = 0;
  std::uint32_t stream_id = 0;
  std::string_view name{};
  std::string_view type{};
  Bytes inputs{};   ///< TLV 4 with its head; empty: there is none
  Bytes outputs{};  ///< TLV 5, likewise
};

/// Walks through the operators of a file.
class DbgWalk {
 public:
  /// `malformed` when `file` does not begin as such a file does, `truncated` when a TLV does not fit.
  static Result<DbgWalk> open(Bytes file) {
    if (!begins_as_dbg(file)) return Status::malformed;
    DbgWalk walk;
    TlvWalk tlvs(file.subspan(kDbgHeadBytes));
    for (Tlv tlv; tlvs.next(tlv);) {
      if (tlv.tag == kDbgTagName) walk.model_ = as_text(tlv.value);
      if (tlv.tag != kDbgTagOps) continue;
      walk.ops_ = ByteReader(tlv.value);
      walk.count_ = walk.left_ = walk.ops_.read<std::uint32_t>();
      if (walk.ops_.truncated()) return Status::truncated;
    }
    if (!tlvs.whole()) return Status::truncated;
    return walk;
  }

  std::string_view model() const { return model_; }
  std::uint32_t count() const { return count_; }

  /// False after the last operator, and where one does not fit or a list of tensors in it is not as long as
  /// it says: then `status()` is `malformed`.
  bool next(OpDescription& op) {
    if (left_ == 0 || status_ != Status::ok) return false;
    --left_;
    op = {};
    op.task_id = ops_.read<std::uint32_t>();
    op.stream_id = ops_.read<std::uint32_t>();
    ops_.take(4 + 4 + 4 + 1);
    TlvWalk tlvs(ops_.take(ops_.read<std::uint32_t>()));
    for (Tlv tlv; tlvs.next(tlv);) {
      if (tlv.tag == kOpTagName) op.name = as_text(tlv.value);
      if (tlv.tag == kOpTagType) op.type = as_text(tlv.value);
      if (tlv.tag == kOpTagInputs) op.inputs = tlv.whole;
      if (tlv.tag == kOpTagOutputs) op.outputs = tlv.whole;
    }
    if (ops_.truncated() || !tlvs.whole() || !is_list(op.inputs, false) || !is_list(op.outputs, true))
      status_ = Status::malformed;
    return status_ == Status::ok;
  }

  Status status() const { return status_; }

 private:
  static bool is_list(Bytes list, bool outputs) {
    TensorWalk tensors(list, outputs);
    for (TensorDescription tensor; tensors.next(tensor);) {
    }
    return tensors.whole();
  }

  std::string_view model_{};
  ByteReader ops_{{}};
  std::uint32_t count_ = 0;
  std::uint32_t left_ = 0;
  Status status_ = Status::ok;
};

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::nano
