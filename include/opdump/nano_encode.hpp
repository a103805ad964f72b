#pragma once
#include <cstdint>

#include "opdump/bytes.hpp"
#include "opdump/nano.hpp"
#include "opdump/record.hpp"

namespace opdump {
inline namespace OPDUMP_NAMESPACE {

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

  void add(std::int32_t value) { add(static_cast<std::uint32_t>(value)); }

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

/// Puts bytes where there is room for all of them. Same calls as `ByteBatcher`.
class ByteCursor {
 public:
  explicit ByteCursor(std::byte* at) : at_(at) {}

  template <std::unsigned_integral T>
  void add(T value) {
    store_little_endian(at_, value);
    at_ += sizeof value;
  }

  void add(std::int32_t value) { add(static_cast<std::uint32_t>(value)); }

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
    const Result<std::uint64_t> count = element_count(tensor.shape);
    readable = count.ok() && count.value() % 8 == 0;
  }
  if (readable) return {tensor.dtype, tensor.format, tensor.shape};
  return {DType::uint8, Format::nd, {&tensor.bytes, 1}};
}

/// Bytes of the TLVs behind one tensor's fixed part.
inline std::uint32_t nano_tlv_bytes(const TensorView& tensor, const NanoForm& form, bool is_output) {
  std::uint32_t bytes = kNanoTlvHeadBytes + 8 * static_cast<std::uint32_t>(form.shape.size()) +
                        kNanoTlvHeadBytes + 8 * static_cast<std::uint32_t>(tensor.original_shape.size());
  if (is_output) bytes += kNanoTlvHeadBytes + static_cast<std::uint32_t>(tensor.original_name.size());
  return bytes;
}

/// Lengths in the head of a nano record, each for inputs and outputs.
struct NanoHeadSizes {
  std::uint32_t counts[2] = {0, 0};
  std::uint32_t bytes[2] = {4, 4};  ///< of the values of TLVs 4 and 5

  /// What the head's first field says.
  std::uint64_t head_bytes() const { return std::uint64_t{8} + 2 * kNanoTlvHeadBytes + bytes[0] + bytes[1]; }
};

/// `for_each_tensor(use)` calls `use(tensor, is_output, index)` for inputs, then outputs, originals filled
/// in.
template <class ForEachTensor>
NanoHeadSizes nano_head_sizes(ForEachTensor for_each_tensor) {
  NanoHeadSizes sizes;
  for_each_tensor([&sizes](const TensorView& tensor, bool is_output, std::uint32_t) {
    ++sizes.counts[is_output];
    sizes.bytes[is_output] += (is_output ? kNanoOutputBytes : kNanoInputBytes) +
                              nano_tlv_bytes(tensor, nano_form(tensor), is_output);
  });
  return sizes;
}

/// Writes the head of a nano record, from its length up to the first tensor byte: 8 + `sizes.head_bytes()`
/// bytes, with `sizes` from `nano_head_sizes` of the same tensors.
template <class ForEachTensor, class Out>
void encode_nano_head(ForEachTensor for_each_tensor, const NanoHeadSizes& sizes, Out& out) {
  const auto add_dims = [&out](std::uint32_t tag, Shape shape) {
    out.add(tag);
    out.add(static_cast<std::uint32_t>(8 * shape.size()));
    for (const Dim dim : shape) out.add(dim);
  };
  const auto add_list = [&](bool is_output) {
    out.add(is_output ? kNanoTagOutputs : kNanoTagInputs);
    out.add(sizes.bytes[is_output]);
    out.add(sizes.counts[is_output]);
  };
  out.add(sizes.head_bytes());
  out.add(kNanoMagic);
  out.add(kNanoVersion);
  add_list(false);
  if (sizes.counts[0] == 0) add_list(true);
  std::uint32_t inputs_left = sizes.counts[0];
  for_each_tensor([&](const TensorView& tensor, bool is_output, std::uint32_t) {
    const NanoForm form = nano_form(tensor);
    out.add(std::int32_t{codes_of(form.dtype).ge_code});
    out.add(static_cast<std::int32_t>(form.format));
    out.add(static_cast<std::int32_t>(tensor.address_kind));
    if (is_output) {
      out.add(tensor.original_index);
      out.add(std::int32_t{codes_of(tensor.original_dtype).ge_code});
      out.add(static_cast<std::int32_t>(tensor.original_format));
    }
    out.add(tensor.address);
    out.add(std::uint64_t{0});
    out.add(tensor.bytes);
    out.add(nano_tlv_bytes(tensor, form, is_output));
    add_dims(kNanoTagShape, form.shape);
    add_dims(kNanoTagOriginalShape, tensor.original_shape);
    if (is_output) {
      out.add(kNanoTagOriginalName);
      out.add(static_cast<std::uint32_t>(tensor.original_name.size()));
      // The vendor's reader gives up the whole file over a byte that is not ASCII.
      out.add_ascii(tensor.original_name);
    }
    if (!is_output && --inputs_left == 0) add_list(true);
  });
}

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump
