#pragma once
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "opdump/bytes.hpp"
#include "opdump/dtype.hpp"
#include "opdump/statistics_elements.hpp"
#include "opdump/tensor.hpp"
#include "opdump/text.hpp"

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

/// The longest head: that of kMaxRank dims of 20 digits.
inline constexpr std::size_t kMaxNpyHeadBytes = 768;

/// Writes the head of an array to `to`, which has room for kMaxNpyHeadBytes, and gives its length, a multiple
/// of 64.
inline std::size_t encode_npy_head(std::string_view descr, Shape shape, std::byte* to) {
  constexpr std::size_t kPrefixBytes = 10;
  constexpr std::string_view kMagic = "\x93NUMPY\x01";
  TextWriter text({reinterpret_cast<char*>(to), kMaxNpyHeadBytes});
  text.add(kMagic).add('\0').add("  ");
  text.add("{'descr': '").add(descr).add("', 'fortran_order': False, 'shape': (");
  for (const Dim dim : shape) text.add_decimal(dim).add(',');
  text.add("), }");
  // At least one blank: a head that is aligned without any gets a whole line of them.
  const std::size_t blanks = 64 - (text.text().size() + 1) % 64;
  for (std::size_t i = 0; i < blanks; ++i) text.add(' ');
  text.add('\n');
  const std::size_t bytes = text.text().size();
  store_little_endian(to + kPrefixBytes - 2, static_cast<std::uint16_t>(bytes - kPrefixBytes));
  return bytes;
}

/// Bytes of the elements behind the head: what the shape counts, without padding. The count and the packed
/// bytes of the tensor fit 64 bits.
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

/// Widens as many bfloat16 at `from` as there are four bytes in `to`.
inline void widen_bfloat16(const std::byte* from, MutableBytes to) {
  for (std::size_t i = 0; i < to.size() / 4; ++i)
    store_little_endian(to.data() + 4 * i, std::uint32_t{load_element<std::uint16_t>(from + 2 * i)} << 16);
}

/// Unpacks as many elements of `dtype` at `from` as there are bytes in `to`: from the lowest bits of a byte
/// up, but uint1 from the highest down.
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

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump
