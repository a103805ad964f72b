#pragma once
#include <cstddef>
#include <cstdint>
#include <new>

#include "opdump/impl/record/part_interfaces.hpp"
#include "opdump/impl/record/record_encoder.hpp"

namespace opdump {
inline namespace OPDUMP_NAMESPACE {

/// How a record passes through the ring: its head describes each tensor, and the drainer makes the file from
/// that description, in any format.
struct DescribedWire {
  using Measured = RecordBytes;

  /// Sets `to` to the bytes that `encode` will write and to those that follow. Errors as `check_record`, and
  /// `too_large`.
  static Status measure(const RecordSource& source, Measured& to) {
    std::uint64_t head = plain_head_bytes(source);
    const auto add = [&head](const TensorView& tensor, unsigned) {
      head += tensor_head_bytes(tensor);
      return true;
    };
    if (const Status status = check_record(source, to.data, add); status != Status::ok) return status;
    if (head > 0x7fffffff - 7) return Status::too_large;
    to.head = static_cast<std::uint32_t>(padded_bytes(static_cast<std::size_t>(head)));
    return Status::ok;
  }

  /// Writes the head to `to`, which is 8-byte aligned and has room for what was measured.
  static void encode(const RecordSource& source, const Measured&, std::byte* to) {
    encode_tensors(source, source.tensors, to);
  }

  /// Writes a head that describes no tensor, in `bare_head_bytes`.
  static void encode_bare(const RecordSource& source, std::byte* to) { encode_tensors(source, {}, to); }

  /// Bytes of the chunk that holds the reduced form of a record of `tensors` tensors, for a
  /// target of that form; without it, one of WhenFull::degrade.
  static std::uint64_t reduced_bytes(const TensorReduction& reduction, std::uint64_t tensors,
                                     std::uint32_t head_bytes, const TargetForm& form = {}) {
    return sizeof(ChunkHead) + head_bytes + tensors * reduction.bytes_per_tensor(form);
  }

  /// Puts the reduced form of the record, which was measured, into the ring. `cause`: why its tensors are
  /// missing; `ok`: they are not wanted.
  template <class Sender>
  static Status put_reduced(Sender& sender, const RecordSource& source, const Measured& bytes, Status cause) {
    TensorReduction& reduction = *sender.context().reduction;
    const TargetForm& form = source.target->form;
    const std::uint64_t needed = reduced_bytes(reduction, source.tensors.size(), bytes.head, form);
    if (needed > sender.ring().max_chunk()) return cause == Status::ok ? Status::too_large : cause;
    const std::uint32_t chunk_bytes = static_cast<std::uint32_t>(needed);
    MutableBytes chunk;
    Status status = sender.open(chunk_head(ChunkKind::reduced, true, cause, {}, bytes.head), chunk_bytes,
                                chunk_bytes, chunk);
    if (status != Status::ok) return status;
    std::byte* to = chunk.data() + sizeof(ChunkHead) + bytes.head;
    const std::uint32_t step = reduction.bytes_per_tensor(form);
    for (std::size_t i = 0; i < source.tensors.size(); ++i, to += step) {
      status = reduction.reduce(*source.target, source.tensors[i], to);
      if (status != Status::ok) return status;
    }
    encode(source, bytes, chunk.data() + sizeof(ChunkHead));
    sender.commit(chunk_bytes);
    return Status::ok;
  }

  /// Puts the record, which was measured, into the ring as rows of a KeptTable; `reduce(i, to)` makes each.
  template <class Sender, class Reduce>
  static Status put_kept(Sender& sender, const RecordSource& source, const Measured& bytes,
                         const Reduce& reduce) {
    const KeptTable& table = *sender.context().kept;
    const std::uint64_t needed =
        sizeof(ChunkHead) + bytes.head + source.tensors.size() * std::uint64_t{table.bytes_per_tensor()};
    if (needed > sender.ring().max_chunk()) return Status::too_large;
    const std::uint32_t chunk_bytes = static_cast<std::uint32_t>(needed);
    MutableBytes chunk;
    Status status = sender.open(chunk_head(ChunkKind::kept, true, Status::ok, {}, bytes.head), chunk_bytes,
                                chunk_bytes, chunk);
    if (status != Status::ok) return status;
    std::byte* to = chunk.data() + sizeof(ChunkHead) + bytes.head;
    for (std::size_t i = 0; i < source.tensors.size(); ++i, to += table.bytes_per_tensor()) {
      status = reduce(i, to);
      if (status != Status::ok) return status;
    }
    encode(source, bytes, chunk.data() + sizeof(ChunkHead));
    sender.commit(chunk_bytes);
    return Status::ok;
  }

 private:
  /// Bytes of a tensor's head, its dims and its original name.
  static std::size_t tensor_head_bytes(const TensorView& tensor) {
    return sizeof(TensorHead) + tensor.shape.size_bytes() + tensor.original_shape.size_bytes() +
           padded_bytes(tensor.original_name.size());
  }

  static void encode_tensors(const RecordSource& source, const CapturedTensors& tensors, std::byte* to) {
    encode_head(source, tensors, 0, to, [&source, &tensors](std::byte* at) {
      for (std::size_t i = 0; i < tensors.size(); ++i)
        at = put_tensor(at, tensors[i], source.index_of(i, tensors.inputs.size()));
      return at;
    });
  }

  [[gnu::always_inline]] static std::byte* put_tensor(std::byte* to, const TensorView& tensor,
                                                      std::uint16_t index) {
    ::new (to) TensorHead{
        .address = tensor.address,
        .bytes = tensor.bytes,
        .format = static_cast<std::int32_t>(tensor.format),
        .original_index = tensor.original_index,
        .original_format = static_cast<std::int32_t>(tensor.original_format),
        .address_kind = static_cast<std::uint16_t>(tensor.address_kind),
        .has_originals = static_cast<std::uint16_t>(has_originals(tensor) ? 1 : 0),
        .dtype = tensor.dtype,
        .original_dtype = tensor.original_dtype,
        .rank = static_cast<std::uint8_t>(tensor.shape.size()),
        .original_rank = static_cast<std::uint8_t>(tensor.original_shape.size()),
        .original_name_bytes = static_cast<std::uint16_t>(tensor.original_name.size()),
        .index = index,
    };
    to += sizeof(TensorHead);
    to = put_short(to, tensor.shape.data(), tensor.shape.size_bytes());
    to = put_short(to, tensor.original_shape.data(), tensor.original_shape.size_bytes());
    copy_short(to, tensor.original_name.data(), tensor.original_name.size());
    return to + padded_bytes(tensor.original_name.size());
  }
};

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump
