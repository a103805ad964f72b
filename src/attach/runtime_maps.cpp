#include <cstddef>
#include <limits>
#include <string_view>

#include "opdump/attach.h"
#include "opdump/types/dtype.hpp"
#include "opdump/types/format.hpp"
#include "src/attach/onnx_dtype.hpp"

using namespace opdump;

namespace {

struct Word {
  std::string_view text;
  DType dtype;
};

/// Names beside those of listings, CANN and NumPy, in small letters.
constexpr Word kWords[] = {
    {"float", DType::float32},
    {"single", DType::float32},
    {"f32", DType::float32},
    {"fp32", DType::float32},
    {"double", DType::float64},
    {"f64", DType::float64},
    {"fp64", DType::float64},
    {"half", DType::float16},
    {"f16", DType::float16},
    {"fp16", DType::float16},
    {"bf16", DType::bfloat16},
    {"i8", DType::int8},
    {"i16", DType::int16},
    {"i32", DType::int32},
    {"i64", DType::int64},
    {"u8", DType::uint8},
    {"u16", DType::uint16},
    {"u32", DType::uint32},
    {"u64", DType::uint64},
    {"s8", DType::int8},
    {"s16", DType::int16},
    {"s32", DType::int32},
    {"s64", DType::int64},
    {"long", DType::int64},
    {"int", DType::int32},
    {"short", DType::int16},
    {"char", DType::int8},
    {"byte", DType::uint8},
    {"boolean", DType::boolean},
    {"u4", DType::uint4},
    {"i4", DType::int4},
    {"float8_e4m3", DType::float8_e4m3fn},
    {"float8e4m3fn", DType::float8_e4m3fn},
    {"float8e5m2", DType::float8_e5m2},
    {"float8e4m3fnuz", DType::float8_e4m3fnuz},
    {"float8e5m2fnuz", DType::float8_e5m2fnuz},
    {"float4e2m1", DType::float4_e2m1},
};

/// NumPy's letters and bits, and what stands for them here.
struct Kind {
  char kind;
  std::uint32_t bits;
  DType dtype;
};

constexpr Kind kKinds[] = {
    {'f', 16, DType::float16},   {'f', 32, DType::float32},     {'f', 64, DType::float64},
    {'i', 2, DType::int2},       {'i', 4, DType::int4},         {'i', 8, DType::int8},
    {'i', 16, DType::int16},     {'i', 32, DType::int32},       {'i', 64, DType::int64},
    {'u', 1, DType::uint1},      {'u', 2, DType::uint2},        {'u', 4, DType::uint4},
    {'u', 8, DType::uint8},      {'u', 16, DType::uint16},      {'u', 32, DType::uint32},
    {'u', 64, DType::uint64},    {'b', 8, DType::boolean},      {'c', 32, DType::complex32},
    {'c', 64, DType::complex64}, {'c', 128, DType::complex128},
};

constexpr char small(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

constexpr bool is_same_text(std::string_view one, std::string_view other) {
  if (one.size() != other.size()) return false;
  for (std::size_t i = 0; i < one.size(); ++i) {
    if (small(one[i]) != small(other[i])) return false;
  }
  return true;
}

std::string_view without(std::string_view text, std::string_view prefix) {
  return is_same_text(text.substr(0, prefix.size()), prefix) ? text.substr(prefix.size()) : text;
}

/// "f4" and "<f4": a kind and bytes.
DType numpy_dtype(std::string_view text) {
  if (!text.empty() && (text[0] == '<' || text[0] == '|' || text[0] == '=')) text.remove_prefix(1);
  if (text.empty()) return DType::undefined;
  const char kind = text[0];
  const std::string_view digits = text.substr(1);
  for (const std::uint32_t bytes : {1u, 2u, 4u, 8u, 16u}) {
    const bool same =
        bytes == 16 ? digits == "16" : digits.size() == 1 && digits[0] == static_cast<char>('0' + bytes);
    if (same) return static_cast<DType>(opdump_dtype_of_kind(kind, bytes * 8));
  }
  return DType::undefined;
}

}  // namespace

extern "C" {

std::int32_t opdump_dtype_named(const char* name) {
  if (name == nullptr) return OPDUMP_UNDEFINED;
  const std::string_view text = without(without(name, "torch."), "DT_");
  // NumPy's letters have a case: `B` is no `b`. They come first, as ggml's `f16` is no NumPy's.
  if (const DType found = numpy_dtype(text); found != DType::undefined)
    return static_cast<std::int32_t>(found);
  for (int i = 1; i < kKnownDTypes; ++i) {
    if (is_same_text(kDTypes[i].name, text) || is_same_text(kDTypes[i].cann_name, text)) return i;
  }
  for (const Word& word : kWords) {
    if (is_same_text(word.text, text)) return static_cast<std::int32_t>(word.dtype);
  }
  return OPDUMP_UNDEFINED;
}

std::int32_t opdump_dtype_of_onnx(std::int32_t number) {
  return number < 0 ? std::int32_t{OPDUMP_UNDEFINED}
                    : static_cast<std::int32_t>(dtype_of_onnx(static_cast<std::uint64_t>(number)));
}

std::int32_t opdump_dtype_of_kind(char kind, std::uint32_t bits) {
  for (const Kind& known : kKinds) {
    if (known.kind == kind && known.bits == bits) return static_cast<std::int32_t>(known.dtype);
  }
  return OPDUMP_UNDEFINED;
}

std::uint32_t opdump_dtype_bits(std::int32_t dtype) {
  return dtype <= 0 || dtype >= kKnownDTypes ? 0 : codes_of(static_cast<DType>(dtype)).bits;
}

std::int32_t opdump_format_named(const char* name) {
  if (name == nullptr) return OPDUMP_FORMAT_ND;
  for (const FormatName& known : kFormats) {
    if (is_same_text(known.name, name)) return static_cast<std::int32_t>(known.format);
  }
  return OPDUMP_FORMAT_ND;
}

opdump_status opdump_dense_strides(std::int32_t dtype, std::uint32_t rank, const std::int64_t* dims,
                                   std::int64_t* strides) {
  if (rank != 0 && (dims == nullptr || strides == nullptr)) return OPDUMP_ERR_INVALID_ARGUMENT;
  const std::uint32_t bits = opdump_dtype_bits(dtype);
  if (bits == 0 || bits % 8 != 0) return OPDUMP_ERR_NOT_SUPPORTED;
  std::int64_t stride = bits / 8;
  for (std::uint32_t i = rank; i-- != 0;) {
    strides[i] = stride;
    if (dims[i] < 0 || __builtin_mul_overflow(stride, dims[i] == 0 ? std::int64_t{1} : dims[i], &stride))
      return OPDUMP_ERR_UNCOUNTABLE_SHAPE;
  }
  return OPDUMP_OK;
}

}  // extern "C"
