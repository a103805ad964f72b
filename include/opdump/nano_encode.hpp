#pragma once
#include <cstdint>

#include "opdump/bytes.hpp"
#include "opdump/nano.hpp"
#include "opdump/record.hpp"

namespace opdump {
inline namespace OPDUMP_NAMESPACE {

/// Writes little-endian fields one behind the other, where there is room for all of them.
class FieldWriter {
 public:
  explicit FieldWriter(std::byte* at) : at_(at) {}

  template <std::unsigned_integral T>
  [[gnu::always_inline]] FieldWriter& add(T value) {
    store_little_endian(at_, value);
    at_ += sizeof value;
    return *this;
  }

  [[gnu::always_inline]] FieldWriter& add(std::int32_t value) {
    return add(static_cast<std::uint32_t>(value));
  }

 private:
  std::byte* at_;
};

/// Hands bytes on in pieces of the size of its memory. `Put` is `void(Bytes)`.
template <class Put>
class ByteBatcher {
 public:
  ByteBatcher(MutableBytes memory, Put put) : memory_(memory), put_(put) {}

  template <std::unsigned_integral T>
  void add(T value) {
    std::byte little_endian[sizeof(T)];
    store_little_endian(little_endian, value);
    add(Bytes(little_endian));
  }

  /// The fields that `write(FieldWriter)` writes, `kBytes` bytes altogether.
  template <std::size_t kBytes, class Write>
  void add_fields(Write write) {
    std::byte fields[kBytes];
    write(FieldWriter(fields));
    add(Bytes(fields));
  }

  void add(Bytes bytes) {
    while (!bytes.empty()) {
      if (used_ == memory_.size()) flush();
      const std::size_t room = memory_.size() - used_;
      const std::size_t now = bytes.size() < room ? bytes.size() : room;
      copy_bytes(memory_.data() + used_, bytes.first(now));
      used_ += now;
      bytes = bytes.subspan(now);
    }
  }

  /// `text` with '_' for every byte that is not ASCII.
  void add_ascii(std::string_view text) {
    for (const char c : text) add(static_cast<std::uint8_t>((c & 0x80) != 0 ? '_' : c));
  }

  Bytes pending() const { return memory_.first(used_); }

 private:
  void flush() {
    put_(pending());
    used_ = 0;
  }

  MutableBytes memory_;
  std::size_t used_ = 0;
  Put put_;
};

/// Puts bytes where there is room for all of them.
class ByteCursor {
 public:
  explicit ByteCursor(std::byte* at) : at_(at) {}

  template <std::size_t kBytes, class Write>
  void add_fields(Write write) {
    write(FieldWriter(at_));
    at_ += kBytes;
  }

  void add_ascii(std::string_view text) {
    for (std::size_t i = 0; i < text.size(); ++i)
      at_[i] = static_cast<std::byte>((text[i] & 0x80) != 0 ? '_' : text[i]);
    at_ += text.size();
  }

 private:
  std::byte* at_;
};

/// What a nano record says of a tensor's elements.
struct NanoForm {
  DType dtype;
  Format format;
  Shape shape;  ///< refers to the tensor
};

/// The tensor as a nano record can hold it. A dtype that the vendor's reader cannot load would cost the user
/// every other tensor of the file, so such a tensor is written as UINT8 with the number of its bytes as
/// shape; its dims stay in the original shape and, for outputs, its dtype in the original dtype. UINT1 is
/// read as 8 elements per byte.
inline NanoForm nano_form(const TensorView& tensor) {
  bool readable = codes_of(tensor.dtype).nano_readable;
  if (tensor.dtype == DType::uint1) {
    // What the product of the dims leaves, though it may not fit.
    std::uint32_t count = 1;
    for (const Dim dim : tensor.shape) count *= static_cast<std::uint32_t>(dim);
    readable = count % 8 == 0;
  }
  if (readable) return {tensor.dtype, tensor.format, tensor.shape};
  return {DType::uint8, Format::nd, {&tensor.bytes, 1}};
}

/// Bytes of the TLVs behind one tensor's fixed part.
inline std::uint32_t nano_tlv_bytes(const TensorView& tensor, const NanoForm& form, bool is_output,
                                    std::string_view op_name) {
  const std::size_t dims = form.shape.size() + original_shape_of(tensor).size();
  std::uint32_t bytes = 2 * kNanoTlvHeadBytes + 8 * static_cast<std::uint32_t>(dims);
  if (is_output)
    bytes += kNanoTlvHeadBytes + static_cast<std::uint32_t>(original_name_of(tensor, op_name).size());
  return bytes;
}

/// `for_each_tensor(use)` calls `use(tensor, is_output, index)` for the inputs of operator `op_name`, then
/// the outputs.
template <class ForEachTensor>
NanoHeadSizes nano_head_sizes(ForEachTensor for_each_tensor, std::string_view op_name) {
  NanoHeadSizes sizes;
  for_each_tensor([&](const TensorView& tensor, bool is_output, std::uint32_t) {
    ++sizes.counts[is_output];
    sizes.bytes[is_output] += (is_output ? kNanoOutputBytes : kNanoInputBytes) +
                              nano_tlv_bytes(tensor, nano_form(tensor), is_output, op_name);
  });
  return sizes;
}

/// Writes the head of a nano record, from its length up to the first tensor byte: 8 + `sizes.head_bytes()`
/// bytes, with `sizes` from `nano_head_sizes` of the same tensors.
template <class ForEachTensor, class Out>
void encode_nano_head(ForEachTensor for_each_tensor, std::string_view op_name, const NanoHeadSizes& sizes,
                      Out& out) {
  const auto add_tlv_head = [&out](std::uint32_t tag, std::size_t bytes) {
    out.template add_fields<kNanoTlvHeadBytes>(
        [&](FieldWriter to) { to.add(tag).add(static_cast<std::uint32_t>(bytes)); });
  };
  const auto add_dims = [&](std::uint32_t tag, Shape shape) {
    add_tlv_head(tag, shape.size_bytes());
    for (const Dim dim : shape) out.template add_fields<sizeof dim>([dim](FieldWriter to) { to.add(dim); });
  };
  const auto add_list = [&](bool is_output) {
    add_tlv_head(is_output ? kNanoTagOutputs : kNanoTagInputs, sizes.bytes[is_output]);
    out.template add_fields<4>([&](FieldWriter to) { to.add(sizes.counts[is_output]); });
  };
  out.template add_fields<kNanoHeadLengthBytes + 8>(
      [&sizes](FieldWriter to) { to.add(sizes.head_bytes()).add(kNanoMagic).add(kNanoVersion); });
  add_list(false);
  if (sizes.counts[0] == 0) add_list(true);
  std::uint32_t inputs_left = sizes.counts[0];
  for_each_tensor([&](const TensorView& tensor, bool is_output, std::uint32_t index) {
    const NanoForm form = nano_form(tensor);
    out.template add_fields<12>([&](FieldWriter to) {
      to.add(std::int32_t{codes_of(form.dtype).ge_code})
          .add(static_cast<std::int32_t>(form.format))
          .add(static_cast<std::int32_t>(tensor.address_kind));
    });
    if (is_output) {
      out.template add_fields<kNanoOutputBytes - kNanoInputBytes>([&](FieldWriter to) {
        to.add(original_index_of(tensor, index))
            .add(std::int32_t{codes_of(original_dtype_of(tensor)).ge_code})
            .add(static_cast<std::int32_t>(original_format_of(tensor)));
      });
    }
    out.template add_fields<kNanoInputBytes - 12>([&](FieldWriter to) {
      to.add(tensor.address)
          .add(std::uint64_t{0})
          .add(tensor.bytes)
          .add(nano_tlv_bytes(tensor, form, is_output, op_name));
    });
    add_dims(kNanoTagShape, form.shape);
    add_dims(kNanoTagOriginalShape, original_shape_of(tensor));
    if (is_output) {
      // The vendor's reader gives up the whole file over a byte that is not ASCII.
      const std::string_view name = original_name_of(tensor, op_name);
      add_tlv_head(kNanoTagOriginalName, name.size());
      out.add_ascii(name);
    }
    if (!is_output && --inputs_left == 0) add_list(true);
  });
}

/// Makes the addresses in `head`, a nano record's head of `inputs` inputs and `outputs` outputs, those at
/// `addresses`, 8 bytes each as the machine has them.
inline void renew_nano_addresses(std::byte* head, std::uint32_t inputs, std::uint32_t outputs,
                                 const std::byte* addresses) {
  constexpr std::size_t kListHeadBytes = kNanoTlvHeadBytes + 4;
  // Behind the address: offset, bytes, bytes of TLVs.
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
