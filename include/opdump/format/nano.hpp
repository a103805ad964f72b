#pragma once
#include <cstdint>
#include <string_view>

#include "opdump/base/byte_output.hpp"
#include "opdump/base/bytes.hpp"
#include "opdump/base/status.hpp"
#include "opdump/types/tensor.hpp"

/// The nano dump record, CANN's file format for dumps of its nano devices, byte by byte. Little endian, no padding.
///
///     u64 head_bytes        from after this field up to the first tensor byte
///     u32 magic 0x5A5A5A5A
///     u32 version 0
///     TLV 4: u32 count, then `count` input records
///     TLV 5: u32 count, then `count` output records
///     TLV 0x4f50: u32 per tensor; opdump's own, see below
///     the tensors' bytes: inputs in order, then outputs in order
///
///     TLV            u32 tag, u32 bytes of the value, value
///     input record   i32 dtype (GE code), i32 format, i32 address kind, u64 address, u64 offset,
///                    u64 tensor bytes, u32 bytes of TLVs, TLVs 0 and 1
///     output record  i32 dtype, i32 format, i32 address kind, i32 original index, i32 original dtype,
///                    i32 original format, u64 address, u64 offset, u64 tensor bytes, u32 bytes of TLVs, TLVs
///                    0, 1, 2
///     TLV 0, 1       shape, original shape: a u64 per dim
///     TLV 2          name of the original operator
///     TLV 0x4f50     for each input, then for each output, its position among the operator's inputs or
///                    outputs. Only in a file that lacks a tensor before another one. The vendor's reader
///                    ignores this TLV, and counts the tensors in the file instead.
///
/// A file is exactly 8 + head_bytes + the sum of the tensors' bytes long. Source: the vendor's reader, its
/// tests' sample made by a device, and its `.dbg` structures.

namespace opdump {
inline namespace OPDUMP_NAMESPACE {

inline constexpr std::uint32_t kNanoMagic = 0x5a5a5a5a;
inline constexpr std::uint32_t kNanoVersion = 0;
inline constexpr std::uint32_t kNanoHeadLengthBytes = 8;
inline constexpr std::uint32_t kNanoTagInputs = 4;
inline constexpr std::uint32_t kNanoTagOutputs = 5;
inline constexpr std::uint32_t kNanoTagPositions = 0x4f50;
inline constexpr std::uint32_t kNanoTagShape = 0;
inline constexpr std::uint32_t kNanoTagOriginalShape = 1;
inline constexpr std::uint32_t kNanoTagOriginalName = 2;
inline constexpr std::uint32_t kNanoTlvHeadBytes = 8;
inline constexpr std::uint32_t kNanoListHeadBytes = kNanoTlvHeadBytes + 4;  ///< of TLV 4 or 5, with its count
inline constexpr std::uint32_t kNanoInputBytes = 40;
inline constexpr std::uint32_t kNanoOutputBytes = 52;

/// What a nano record says of a tensor, where it differs from the tensor's own fields. Refers to the tensor.
struct NanoForm {
  DType dtype;
  Format format;
  Shape shape;
  Shape original_shape;
  std::string_view original_name;  ///< of an output
  std::uint32_t tlv_bytes;         ///< bytes after the fixed part
};

/// Whether the vendor's reader makes an array of the tensor's elements. UINT1 is read as 8 elements per byte.
inline bool is_nano_readable(const TensorView& tensor) {
  if (tensor.dtype != DType::uint1) return codes_of(tensor.dtype).nano_readable();
  // The product of the dims modulo 2^32 is enough, even if the product does not fit.
  std::uint32_t count = 1;
  for (const Dim dim : tensor.shape) count *= static_cast<std::uint32_t>(dim);
  return count % 8 == 0;
}

/// The input or output of operator `op_name` as a nano record can hold it. A dtype that the vendor's reader cannot
/// load would cost the user every other tensor of the file, so such a tensor is written as UINT8 with the number of
/// its bytes as shape; its dims stay in the original shape and, for outputs, its dtype in the original dtype.
inline NanoForm nano_form(const TensorView& tensor, bool is_output, const std::string_view& op_name) {
  NanoForm nano;  // field by field: GCC would clear the whole first
  nano.dtype = tensor.dtype;
  nano.format = tensor.format;
  nano.shape = tensor.shape;
  nano.original_shape = original_shape_of(tensor);
  nano.original_name = op_name;
  if (!is_nano_readable(tensor)) {
    nano.dtype = DType::uint8;
    nano.format = Format::nd;
    nano.shape = {&tensor.bytes, 1};
  }
  nano.tlv_bytes = 2 * kNanoTlvHeadBytes + static_cast<std::uint32_t>(nano.shape.size_bytes()) +
                   static_cast<std::uint32_t>(nano.original_shape.size_bytes());
  if (is_output) {
    if (!tensor.original_name.empty()) nano.original_name = tensor.original_name;
    nano.tlv_bytes += kNanoTlvHeadBytes + static_cast<std::uint32_t>(nano.original_name.size());
  }
  return nano;
}

/// Lengths in the head of a nano record, for inputs and for outputs.
struct NanoHeadSizes {
  std::uint32_t bytes[2] = {0, 0};  ///< of the records behind the counts in TLVs 4 and 5

  void add(const TensorView& tensor, bool is_output, const std::string_view& op_name) {
    bytes[is_output] +=
        (is_output ? kNanoOutputBytes : kNanoInputBytes) + nano_form(tensor, is_output, op_name).tlv_bytes;
  }

  /// The value of the head's first field.
  std::uint32_t head_bytes() const { return 8 + 2 * kNanoListHeadBytes + bytes[0] + bytes[1]; }

  /// Bytes up to the first tensor byte.
  std::uint32_t file_bytes() const { return kNanoHeadLengthBytes + head_bytes(); }
};

/// Writes the parts of a nano record's head to `Out`: a `ByteCursor`, a `ByteBatcher` or a reference to one.
/// Refers to `sizes` and `op_name`.
template <class Out>
class NanoHeadWriter {
 public:
  NanoHeadWriter(Out out, const NanoHeadSizes& sizes, const std::string_view& op_name)
      : out_(out), sizes_(sizes), op_name_(op_name) {}

  void add_start() { add_start(sizes_.head_bytes()); }

  /// `head_bytes` includes what follows the lists.
  void add_start(std::uint32_t head_bytes) {
    out_.template add_fields<kNanoHeadLengthBytes + 8>([head_bytes](FieldWriter to) {
      to.add(head_bytes).add(std::uint32_t{0}).add(kNanoMagic).add(kNanoVersion);
    });
  }

  /// Writes what precedes the inputs or the outputs.
  void add_list(bool is_output, std::uint32_t count) {
    out_.template add_fields<kNanoListHeadBytes>([&](FieldWriter to) {
      to.add(is_output ? kNanoTagOutputs : kNanoTagInputs).add(4 + sizes_.bytes[is_output]).add(count);
    });
  }

  void add_all(std::span<const TensorView> list, bool is_output) {
    const std::uint32_t count = static_cast<std::uint32_t>(list.size());
    add_list(is_output, count);
    for (std::uint32_t i = 0; i < count; ++i) add_tensor(list[i], is_output, i);
  }

  OPDUMP_INLINE_IF_LEAN void add_tensor(const TensorView& tensor, bool is_output, std::uint32_t index) {
    const NanoForm nano = nano_form(tensor, is_output, op_name_);
    out_.template add_fields<12>([&](FieldWriter to) {
      to.add(std::int32_t{codes_of(nano.dtype).ge_code()})
          .add(static_cast<std::int32_t>(nano.format))
          .add(static_cast<std::int32_t>(tensor.address_kind));
    });
    if (is_output) {
      out_.template add_fields<kNanoOutputBytes - kNanoInputBytes>([&](FieldWriter to) {
        to.add(original_index_of(tensor, index))
            .add(std::int32_t{codes_of(original_dtype_of(tensor)).ge_code()})
            .add(static_cast<std::int32_t>(original_format_of(tensor)));
      });
    }
    out_.template add_fields<kNanoInputBytes - 12>([&](FieldWriter to) {
      to.add(tensor.address).add(std::uint64_t{0}).add(tensor.bytes).add(nano.tlv_bytes);
    });
    add_dims(kNanoTagShape, nano.shape);
    add_dims(kNanoTagOriginalShape, nano.original_shape);
    if (is_output) {
      add_tlv_head(kNanoTagOriginalName, nano.original_name.size());
      // The vendor's reader gives up the whole file over a byte that is not ASCII.
      out_.add_ascii(nano.original_name);
    }
  }

 private:
  void add_tlv_head(std::uint32_t tag, std::size_t bytes) {
    out_.template add_fields<kNanoTlvHeadBytes>(
        [&](FieldWriter to) { to.add(tag).add(static_cast<std::uint32_t>(bytes)); });
  }

  void add_dims(std::uint32_t tag, const Shape& shape) {
    add_tlv_head(tag, shape.size_bytes());
    for (const Dim dim : shape) out_.template add_fields<sizeof dim>([dim](FieldWriter to) { to.add(dim); });
  }

  Out out_;
  const NanoHeadSizes& sizes_;
  const std::string_view& op_name_;
};

/// The same with the number of inputs and of outputs, and whether the record must give their positions.
struct NanoLists : NanoHeadSizes {
  std::uint32_t counts[2] = {0, 0};
  bool has_gaps = false;

  std::uint32_t position_bytes() const { return (counts[0] + counts[1]) * 4; }
  std::uint32_t head_bytes() const {
    return NanoHeadSizes::head_bytes() + (has_gaps ? kNanoTlvHeadBytes + position_bytes() : 0);
  }
  std::uint32_t file_bytes() const { return kNanoHeadLengthBytes + head_bytes(); }
};

/// The sizes of a record's head. `for_each_tensor(use)` calls `use(tensor, is_output, index)` for the inputs of
/// operator `op_name`, then for the outputs, each with its position among the operator's inputs or outputs.
template <class ForEachTensor>
NanoLists nano_head_sizes(ForEachTensor for_each_tensor, std::string_view op_name) {
  NanoLists sizes;
  for_each_tensor([&](const TensorView& tensor, bool is_output, std::uint32_t index) {
    sizes.has_gaps = sizes.has_gaps || index != sizes.counts[is_output];
    ++sizes.counts[is_output];
    sizes.add(tensor, is_output, op_name);
  });
  return sizes;
}

/// Writes the head of a nano record, from its length up to the first tensor byte: `sizes.file_bytes()`
/// bytes, with `sizes` from `nano_head_sizes` of the same tensors.
template <class ForEachTensor, class Out>
void encode_nano_head(ForEachTensor for_each_tensor, std::string_view op_name, const NanoLists& sizes,
                      Out& out) {
  NanoHeadWriter<Out&> writer(out, sizes, op_name);
  writer.add_start(sizes.head_bytes());
  writer.add_list(false, sizes.counts[0]);
  if (sizes.counts[0] == 0) writer.add_list(true, sizes.counts[1]);
  std::uint32_t inputs_left = sizes.counts[0];
  for_each_tensor([&](const TensorView& tensor, bool is_output, std::uint32_t index) {
    writer.add_tensor(tensor, is_output, index);
    if (!is_output && --inputs_left == 0) writer.add_list(true, sizes.counts[1]);
  });
  if (!sizes.has_gaps) return;
  out.template add_fields<kNanoTlvHeadBytes>(
      [&sizes](FieldWriter to) { to.add(kNanoTagPositions).add(sizes.position_bytes()); });
  for_each_tensor([&out](const TensorView&, bool, std::uint32_t index) {
    out.template add_fields<sizeof index>([index](FieldWriter to) { to.add(index); });
  });
}

/// Replaces the addresses in `head`, the head of a nano record of `inputs` inputs and `outputs` outputs, by
/// those at `addresses`: 8 bytes each, in the machine's byte order.
inline void renew_nano_addresses(std::byte* head, std::uint32_t inputs, std::uint32_t outputs,
                                 const std::byte* addresses) {
  constexpr std::size_t kListHeadBytes = kNanoTlvHeadBytes + 4;
  // After the address: offset, bytes, bytes of TLVs.
  constexpr std::size_t kBehindAddress = 8 + 8 + 8;
  std::byte* at = head + kNanoHeadLengthBytes + 8;
  const auto renew_list = [&](std::uint32_t count, std::size_t fixed_bytes) {
    at += kListHeadBytes;
    for (std::uint32_t i = 0; i < count; ++i, addresses += sizeof(Address)) {
      std::byte* const lengths = at + fixed_bytes - 4;
      Address address;
      std::memcpy(&address, addresses, sizeof address);
      store_little_endian(lengths - kBehindAddress, address);
      at += fixed_bytes + load_little_endian<std::uint32_t>(lengths);
    }
  };
  renew_list(inputs, kNanoInputBytes);
  renew_list(outputs, kNanoOutputBytes);
}

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump
