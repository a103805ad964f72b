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

/// The tensor as a nano record can hold it. A dtype that the vendor's reader cannot load would cost the user
/// every other tensor of the file, so such a tensor is written as UINT8 with the number of its bytes as
/// shape; its dims stay in the original shape and, for outputs, its dtype in the original dtype. UINT1 is
/// read as 8 elements per byte.
inline TensorView nano_readable(const TensorView& tensor, Dim& byte_count) {
  bool readable = info(tensor.dtype).nano_readable;
  if (tensor.dtype == DType::uint1) {
    const Result<std::uint64_t> count = element_count(tensor.shape);
    readable = count.ok() && count.value() % 8 == 0;
  }
  if (readable) return tensor;
  byte_count = tensor.bytes;
  TensorView as_bytes = tensor;
  as_bytes.dtype = DType::uint8;
  as_bytes.format = Format::nd;
  as_bytes.shape = {&byte_count, 1};
  return as_bytes;
}

/// Bytes of the TLVs behind one tensor's fixed part.
inline std::uint32_t nano_tlv_bytes(const TensorView& tensor, bool is_output) {
  std::uint32_t bytes = kNanoTlvHeadBytes + 8 * static_cast<std::uint32_t>(tensor.shape.size()) +
                        kNanoTlvHeadBytes + 8 * static_cast<std::uint32_t>(tensor.original_shape.size());
  if (is_output) bytes += kNanoTlvHeadBytes + static_cast<std::uint32_t>(tensor.original_name.size());
  return bytes;
}

/// Writes the head of a nano record, from its length up to the first tensor byte. `for_each_tensor(use)`
/// calls `use(tensor, is_output, index)` for inputs, then outputs, originals filled in, and may be called
/// several times.
template <class ForEachTensor, class Put>
void encode_nano_head(ForEachTensor for_each_tensor, ByteBatcher<Put>& out) {
  std::uint32_t counts[2] = {0, 0};
  std::uint32_t bytes[2] = {4, 4};
  for_each_tensor([&](const TensorView& tensor, bool is_output, std::uint32_t) {
    Dim byte_count = 0;
    ++counts[is_output];
    bytes[is_output] += (is_output ? kNanoOutputBytes : kNanoInputBytes) +
                        nano_tlv_bytes(nano_readable(tensor, byte_count), is_output);
  });
  const auto add_dims = [&out](std::uint32_t tag, Shape shape) {
    out.add(tag);
    out.add(static_cast<std::uint32_t>(8 * shape.size()));
    for (const Dim dim : shape) out.add(dim);
  };
  out.add(std::uint64_t{8} + 2 * kNanoTlvHeadBytes + bytes[0] + bytes[1]);
  out.add(kNanoMagic);
  out.add(kNanoVersion);
  for (const bool is_output : {false, true}) {
    out.add(is_output ? kNanoTagOutputs : kNanoTagInputs);
    out.add(bytes[is_output]);
    out.add(counts[is_output]);
    for_each_tensor([&](const TensorView& captured, bool of_output, std::uint32_t) {
      if (of_output != is_output) return;
      Dim byte_count = 0;
      const TensorView tensor = nano_readable(captured, byte_count);
      out.add(std::int32_t{info(tensor.dtype).ge_code});
      out.add(static_cast<std::int32_t>(tensor.format));
      out.add(static_cast<std::int32_t>(tensor.address_kind));
      if (is_output) {
        out.add(tensor.original_index);
        out.add(std::int32_t{info(tensor.original_dtype).ge_code});
        out.add(static_cast<std::int32_t>(tensor.original_format));
      }
      out.add(tensor.address);
      out.add(std::uint64_t{0});
      out.add(tensor.bytes);
      out.add(nano_tlv_bytes(tensor, is_output));
      add_dims(kNanoTagShape, tensor.shape);
      add_dims(kNanoTagOriginalShape, tensor.original_shape);
      if (is_output) {
        out.add(kNanoTagOriginalName);
        out.add(static_cast<std::uint32_t>(tensor.original_name.size()));
        // The vendor's reader gives up the whole file over a byte that is not ASCII.
        for (const char c : tensor.original_name)
          out.add(static_cast<std::uint8_t>((c & 0x80) != 0 ? '_' : c));
      }
    });
  }
}

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump
