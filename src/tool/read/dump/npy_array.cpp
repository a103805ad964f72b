#include "src/tool/read/dump/npy_array.hpp"

#include <bit>

#include "opdump/base/bytes.hpp"
#include "src/tool/read/dump/elements.hpp"

namespace opdump::tool {
namespace {

/// NaNs keep their bits, which they would not on the way through a floating-point register.
void widen_bfloat16(const std::byte* from, std::size_t count, std::byte* to) {
  for (std::size_t i = 0; i < count; ++i)
    store_little_endian(to + 4 * i, std::uint32_t{load_little_endian<std::uint16_t>(from + 2 * i)} << 16);
}

void store(std::byte* to, double value) {
  store_little_endian(to, std::bit_cast<std::uint64_t>(value));
}
void store(std::byte* to, float value) {
  store_little_endian(to, std::bit_cast<std::uint32_t>(value));
}
void store(std::byte* to, std::int8_t value) {
  store_little_endian(to, static_cast<std::uint8_t>(value));
}
void store(std::byte* to, std::uint8_t value) {
  store_little_endian(to, value);
}

template <DType kDType, class To>
void convert_numbers(const std::byte* from, std::size_t count, std::byte* to) {
  constexpr std::size_t kBlock = 256;
  const ReadElements read = element_reader(kDType);
  double numbers[kBlock];
  for (std::size_t done = 0; done < count; done += kBlock) {
    const std::size_t now = count - done < kBlock ? count - done : kBlock;
    read(from + done * info(kDType).bits / 8, now, numbers);
    for (std::size_t i = 0; i < now; ++i) store(to + (done + i) * sizeof(To), static_cast<To>(numbers[i]));
  }
}

void widen_complex32(const std::byte* from, std::size_t count, std::byte* to) {
  convert_numbers<DType::float16, float>(from, 2 * count, to);
}

struct DTypeConversion {
  DType dtype;
  std::string_view descr;
  std::uint32_t item_bytes;
  ConvertElements convert;
};

/// Dtypes that NumPy has not, or msaccucmp turns into another.
constexpr DTypeConversion kConversions[] = {
    {DType::bfloat16, "<f4", 4, widen_bfloat16},
    {DType::complex32, "<c8", 8, widen_complex32},
    {DType::int4, "|i1", 1, convert_numbers<DType::int4, std::int8_t>},
    {DType::int2, "|i1", 1, convert_numbers<DType::int2, std::int8_t>},
    {DType::uint2, "|u1", 1, convert_numbers<DType::uint2, std::uint8_t>},
    {DType::uint4, "|u1", 1, convert_numbers<DType::uint4, std::uint8_t>},
    {DType::float8_e4m3fnuz, "<f4", 4, convert_numbers<DType::float8_e4m3fnuz, float>},
    {DType::float8_e5m2fnuz, "<f4", 4, convert_numbers<DType::float8_e5m2fnuz, float>},
    {DType::uint1, "|u1", 1, convert_numbers<DType::uint1, std::uint8_t>},
    {DType::hifloat8, "<f8", 8, convert_numbers<DType::hifloat8, double>},
    {DType::float8_e5m2, "<f8", 8, convert_numbers<DType::float8_e5m2, double>},
    {DType::float8_e4m3fn, "<f8", 8, convert_numbers<DType::float8_e4m3fn, double>},
    {DType::float8_e8m0, "<f4", 4, convert_numbers<DType::float8_e8m0, float>},
    {DType::float4_e2m1, "<f4", 4, convert_numbers<DType::float4_e2m1, float>},
    {DType::qint8, "|i1", 1, nullptr},
    {DType::qint16, "<i2", 2, nullptr},
    {DType::qint32, "<i4", 4, nullptr},
    {DType::quint8, "|u1", 1, nullptr},
    {DType::quint16, "<u2", 2, nullptr},
};

bool find_dtype(const RecordTensor& tensor, NpyArray& array, std::string& reason) {
  array.element_bits = info(tensor.dtype).bits;
  if (!info(tensor.dtype).npy_descr.empty()) {
    array.descr = info(tensor.dtype).npy_descr;
    array.item_bytes = array.element_bits / 8;
    return true;
  }
  for (const DTypeConversion& conversion : kConversions) {
    if (conversion.dtype != tensor.dtype) continue;
    array.descr = conversion.descr;
    array.item_bytes = conversion.item_bytes;
    array.convert = conversion.convert;
    return true;
  }
  reason = "there is no array for dtype code " + std::to_string(tensor.dtype_code);
  if (tensor.dtype_known) reason.append(" (").append(info(tensor.dtype).name).append(")");
  return false;
}

}  // namespace

bool describe_array(const RecordTensor& tensor, bool keep_bfloat16, NpyArray& array, std::string& reason) {
  array = {};
  if (tensor.dtype == DType::undefined && tensor.dtype_known) {
    array = {"|i1", {tensor.bytes}, tensor.bytes, 1, 8, nullptr};
    return true;
  }
  array.shape.assign(tensor.shape().begin(), tensor.shape().end());
  const Result<std::uint64_t> count = element_count(tensor.shape());
  if (tensor.has_shape && count.ok() && count.value() == 0) {
    array.descr = info(DType::float64).npy_descr;
    array.item_bytes = 8;
    return true;
  }
  if (!find_dtype(tensor, array, reason)) return false;
  if (keep_bfloat16 && tensor.dtype == DType::bfloat16) {
    array.descr = "<V2";
    array.item_bytes = 2;
    array.convert = nullptr;
  }
  if (!tensor.has_shape) {
    if (tensor.bytes > UINT64_MAX / 8 || tensor.bytes * 8 % array.element_bits != 0) {
      reason = std::to_string(tensor.bytes) + " bytes without a shape are no whole number of elements";
      return false;
    }
    array.elements = tensor.bytes * 8 / array.element_bits;
    array.shape = {array.elements};
    return true;
  }
  const Result<std::uint64_t> needed = packed_bytes(tensor.dtype, tensor.shape());
  if (!needed.ok() || tensor.bytes < needed.value()) {
    reason = "the shape needs " + (needed.ok() ? std::to_string(needed.value()) : std::string("too many")) +
             " bytes, and the tensor has " + std::to_string(tensor.bytes);
    return false;
  }
  array.elements = count.value();
  if (array.shape.empty()) array.shape = {1};
  return true;
}

}  // namespace opdump::tool
