#pragma once
#include <opdump/opdump.h>

#include <cstdint>

namespace opdump::tflite_dtypes {

/// The dtype of elements of a TfLiteType, which TFLite, LiteRT and TFLite Micro number alike: as opdump.h has
/// it, which are the values of DType too. OPDUMP_UNDEFINED: elements have no fixed size, or it is not known.
constexpr std::int32_t of(std::int32_t type) {
  constexpr std::int32_t kDTypes[] = {
      OPDUMP_UNDEFINED, OPDUMP_FLOAT32, OPDUMP_INT32,         OPDUMP_UINT8,      OPDUMP_INT64,
      OPDUMP_UNDEFINED, OPDUMP_BOOLEAN, OPDUMP_INT16,         OPDUMP_COMPLEX64,  OPDUMP_INT8,
      OPDUMP_FLOAT16,   OPDUMP_FLOAT64, OPDUMP_COMPLEX128,    OPDUMP_UINT64,     OPDUMP_UNDEFINED,
      OPDUMP_UNDEFINED, OPDUMP_UINT32,  OPDUMP_UINT16,        OPDUMP_INT4,       OPDUMP_BFLOAT16,
      OPDUMP_INT2,      OPDUMP_UINT4,   OPDUMP_FLOAT8_E4M3FN, OPDUMP_FLOAT8_E5M2};
  constexpr auto kCount = static_cast<std::int32_t>(sizeof kDTypes / sizeof kDTypes[0]);
  return type >= 0 && type < kCount ? kDTypes[type] : static_cast<std::int32_t>(OPDUMP_UNDEFINED);
}

}  // namespace opdump::tflite_dtypes
