#pragma once
#include <string_view>
#include <utility>

#include "opdump/types/dtype.hpp"

namespace opdump::tool {

/// Source: the safetensors format.
inline constexpr std::pair<std::string_view, DType> kSafetensorsDTypes[] = {
    {"F64", DType::float64},         {"F32", DType::float32},
    {"F16", DType::float16},         {"BF16", DType::bfloat16},
    {"I64", DType::int64},           {"I32", DType::int32},
    {"I16", DType::int16},           {"I8", DType::int8},
    {"U64", DType::uint64},          {"U32", DType::uint32},
    {"U16", DType::uint16},          {"U8", DType::uint8},
    {"BOOL", DType::boolean},        {"F8_E4M3", DType::float8_e4m3fn},
    {"F8_E5M2", DType::float8_e5m2}, {"F8_E8M0", DType::float8_e8m0},
    {"F4", DType::float4_e2m1},      {"C64", DType::complex64}};

/// Undefined: there is none of that name.
constexpr DType dtype_of_safetensors(std::string_view name) {
  for (const auto& [text, dtype] : kSafetensorsDTypes) {
    if (text == name) return dtype;
  }
  return DType::undefined;
}

/// Empty: safetensors has no such dtype.
constexpr std::string_view name_in_safetensors(DType dtype) {
  for (const auto& [text, known] : kSafetensorsDTypes) {
    if (known == dtype) return text;
  }
  return {};
}

}  // namespace opdump::tool
