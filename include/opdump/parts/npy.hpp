#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "opdump/base/bytes.hpp"
#include "opdump/base/text.hpp"
#include "opdump/format/npy_head.hpp"
#include "opdump/format/overflow_json.hpp"
#include "opdump/impl/record/part_interfaces.hpp"
#include "opdump/impl/stats/numbers.hpp"
#include "opdump/types/dtype.hpp"
#include "opdump/types/overflow.hpp"
#include "opdump/types/tensor.hpp"

/// NumPy's file format: the head, and the elements of dtypes that NumPy has not got, made into ones it has.
/// Source: NumPy's description of format 1.0, and the heads that MindSpore writes.

namespace opdump {
inline namespace OPDUMP_NAMESPACE {

/// How elements are stored.
enum class NpyElements : std::uint8_t {
  plain,     ///< as they are
  bfloat16,  ///< widened to float32
  packed,    ///< integers of 1, 2 or 4 bits, a byte each
  opaque,    ///< as the tensor's bytes: NumPy has nothing like them
};

constexpr NpyElements npy_elements(DType dtype) {
  switch (dtype) {
    case DType::bfloat16:
      return NpyElements::bfloat16;
    case DType::int4:
    case DType::int2:
    case DType::uint2:
    case DType::uint1:
    case DType::uint4:
      return NpyElements::packed;
    default:
      return info(dtype).npy_descr.empty() ? NpyElements::opaque : NpyElements::plain;
  }
}

constexpr std::string_view npy_descr(DType dtype) {
  switch (npy_elements(dtype)) {
    case NpyElements::bfloat16:
      return "<f4";
    case NpyElements::packed:
      return dtype == DType::int4 || dtype == DType::int2 ? "|i1" : "|u1";
    case NpyElements::opaque:
      return "|u1";
    case NpyElements::plain:
      break;
  }
  return info(dtype).npy_descr;
}

/// Bytes of the elements behind the head: as many as the shape counts, without padding. The count and the
/// packed bytes of the tensor fit 64 bits.
inline std::uint64_t npy_data_bytes(const TensorView& tensor) {
  const NpyElements elements = npy_elements(tensor.dtype);
  if (elements == NpyElements::opaque) return tensor.bytes;
  const std::uint64_t count = element_count(tensor.shape).value();
  if (elements == NpyElements::plain) return count * (info(tensor.dtype).bits / 8);
  return elements == NpyElements::bfloat16 ? count * 4 : count;
}

/// The shape in the head.
inline Shape npy_shape(const TensorView& tensor) {
  return npy_elements(tensor.dtype) == NpyElements::opaque ? Shape(&tensor.bytes, 1) : tensor.shape;
}

/// Widens bfloat16 numbers at `from` to float32 until `to` is full.
inline void widen_bfloat16(const std::byte* from, MutableBytes to) {
  for (std::size_t i = 0; i < to.size() / 4; ++i)
    store_little_endian(to.data() + 4 * i, std::uint32_t{load_element<std::uint16_t>(from + 2 * i)} << 16);
}

/// Unpacks elements of `dtype` at `from`, a byte each, until `to` is full: from the lowest bits of a byte up,
/// but uint1 from the highest down.
inline void unpack_elements(DType dtype, const std::byte* from, MutableBytes to) {
  const unsigned bits = info(dtype).bits;
  const bool has_sign = dtype == DType::int4 || dtype == DType::int2;
  const unsigned sign = has_sign ? 1u << (bits - 1) : 0;
  const std::size_t per_byte = 8 / bits;
  for (std::size_t i = 0; i < to.size(); ++i) {
    const unsigned place = static_cast<unsigned>(i % per_byte) * bits;
    const unsigned shift = dtype == DType::uint1 ? 7 - place : place;
    const unsigned raw = (std::to_integer<unsigned>(from[i / per_byte]) >> shift) & ((1u << bits) - 1);
    to[i] = static_cast<std::byte>((raw ^ sign) - sign);
  }
}

/// Writes a NumPy file for each tensor, named `....{input|output}.{index}.{format}.{dtype}.npy`, with the
/// elements that the shape counts, without padding. bfloat16 becomes float32, and integers of fewer than 8
/// bits become bytes; a dtype that NumPy has nothing like is written as an array of the tensor's bytes. The
/// name has the dtype that the tensor had, as the layout spells it. Where MindSpore has tensors in the
/// framework's format and calls that DefaultFormat, a tensor that is still in a format of the device (see
/// Restorer) is written as it is, with the name of its own format. Source: MindSpore's names and heads.
class NpyFormat final : public RecordFormat {
 public:
  bool one_tensor() const override { return true; }

  std::string_view suffix(const RecordView& record, const DumpTarget& target,
                          std::span<char> memory) const override {
    TextWriter text(memory);
    record.for_each_tensor([&](const TensorView& tensor, bool is_output, std::uint32_t index) {
      add_suffix(text, tensor, is_output, index, target.default_format, target.form.layout);
    });
    return text.text();
  }

  static void add_suffix(TextWriter& to, const TensorView& tensor, bool is_output, std::uint32_t index,
                         bool default_format, Layout layout) {
    to.add(is_output ? ".output." : ".input.").add_decimal(index).add('.');
    const std::string_view format = to_string(tensor.format);
    if (default_format && is_framework_format(tensor.format)) {
      to.add("DefaultFormat");
    } else if (format.empty()) {
      to.add_decimal(static_cast<std::uint32_t>(tensor.format));
    } else {
      to.add(format);
    }
    if (layout != Layout::mindspore_cpu_document) add_dtype(to.add('.'), info(tensor.dtype).name, layout);
    to.add(".npy");
  }

  /// As `uint8`, or in capitals as `UInt8`. Source: MindSpore's names of types.
  static void add_dtype(TextWriter& to, std::string_view name, Layout layout) {
    if (layout != Layout::mindspore_cpu_product) {
      to.add(name);
      return;
    }
    const std::size_t capitals = name.starts_with("uint") || name.starts_with("bfloat") ? 2 : 1;
    for (std::size_t i = 0; i < name.size(); ++i)
      to.add(i < capitals ? static_cast<char>(name[i] - 'a' + 'A') : name[i]);
  }

  [[nodiscard]] Status begin(OpenObject& object, FormatState& state, const RecordView& record, Bytes data,
                             MutableBytes /*scratch*/) override {
    Status status = Status::ok;
    record.for_each_tensor([&](const TensorView& tensor, bool, std::uint32_t) {
      status = begin_tensor(object, state, tensor, data);
    });
    return status;
  }

  /// Puts the head of a file with `tensor`, and `data`, its first bytes; the others go to `append`.
  [[nodiscard]] Status begin_tensor(OpenObject& object, FormatState& state, const TensorView& tensor,
                                    Bytes data) {
    state = {npy_data_bytes(tensor), tensor.dtype};
    const Bytes head(buffer_, encode_npy_head(npy_descr(tensor.dtype), npy_shape(tensor), buffer_));
    if (is_as_it_lies(state.dtype)) {
      const Bytes parts[] = {head, take(state, data)};
      return object.put(parts);
    }
    const Status status = object.put(head);
    return status == Status::ok ? append(object, state, data) : status;
  }

  [[nodiscard]] Status append(OpenObject& object, FormatState& state, Bytes data) override {
    if (is_as_it_lies(state.dtype)) {
      const Bytes kept = take(state, data);
      return kept.empty() ? Status::ok : object.put(kept);
    }
    // Bytes of the file for each byte of memory.
    const bool widens = npy_elements(state.dtype) == NpyElements::bfloat16;
    const std::size_t growth = widens ? 2 : 8 / info(state.dtype).bits;
    while (!data.empty() && state.left != 0) {
      const std::size_t from_bytes = std::min(data.size(), kBufferBytes / growth);
      const std::size_t to_bytes =
          static_cast<std::size_t>(std::min<std::uint64_t>(from_bytes * growth, state.left));
      const MutableBytes to(buffer_, to_bytes);
      if (widens) {
        widen_bfloat16(data.data(), to);
      } else {
        unpack_elements(state.dtype, data.data(), to);
      }
      if (const Status status = object.put(to); status != Status::ok) return status;
      state.left -= to_bytes;
      data = data.subspan(from_bytes);
    }
    return Status::ok;
  }

  [[nodiscard]] Status put_report(OpenObject& object,
                                  [[maybe_unused]] const OverflowReport& report) override {
#if OPDUMP_SMALL_CODE
    object.abort();
    return Status::not_supported;
#else
    TextWriter text({reinterpret_cast<char*>(buffer_), kBufferBytes});
    return object.put(as_bytes(add_overflow_json(text, report).text()));
#endif
  }

 private:
  static constexpr std::size_t kBufferBytes = 4096;
  static_assert(kBufferBytes >= kMaxNpyHeadBytes);

  static bool is_as_it_lies(DType dtype) {
    const NpyElements elements = npy_elements(dtype);
    return elements == NpyElements::plain || elements == NpyElements::opaque;
  }

  static Bytes take(FormatState& state, Bytes data) {
    const Bytes kept = data.first(static_cast<std::size_t>(std::min<std::uint64_t>(data.size(), state.left)));
    state.left -= kept.size();
    return kept;
  }

  std::byte buffer_[kBufferBytes];
};

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump
