#pragma once
#include <cstdint>
#include <string_view>

#include "opdump/base/packed_names.hpp"
#include "opdump/base/status.hpp"

namespace opdump {
inline namespace OPDUMP_NAMESPACE {

/// Element type of a tensor. The values are opdump's own; the vendors' numberings are tables below.
enum class DType : std::uint8_t {
  undefined,
  float32,
  float16,
  bfloat16,
  float64,
  int8,
  int16,
  int32,
  int64,
  uint8,
  uint16,
  uint32,
  uint64,
  boolean,
  complex32,
  complex64,
  complex128,
  int4,
  int2,
  uint2,
  uint1,
  hifloat8,
  float8_e5m2,
  float8_e4m3fn,
  float8_e8m0,
  float6_e3m2,
  float6_e2m3,
  float4_e2m1,
  float4_e1m2,
  hifloat4,
  hifloat4_scale,
  qint8,
  qint16,
  qint32,
  quint8,
  quint16,
  dual_sub_int8,
  dual_sub_uint8,
  dual,
  string,
  string_ref,
  resource,
  variant,
  // No vendor's dump format has a code for these: see DTypeInfo. Builds with OPDUMP_SMALL_CODE do not know them.
  uint4,
  float8_e4m3fnuz,
  float8_e5m2fnuz,
};

/// What is known of a dtype. Where a dump's format has no code for it, a nano record gives the tensor's bytes
/// as uint8, and a protobuf record as of an undefined dtype.
struct DTypeInfo {
  std::string_view name;       ///< as in configs and listings: "float16"
  std::string_view cann_name;  ///< without the DT_ of CANN's texts: "FLOAT16"
  std::string_view npy_descr;  ///< NumPy's dtype string of the same bytes; empty where NumPy has none
  std::int16_t ge_code;        ///< numbering of GE, ACL, `.dbg` files and nano records; -1 where it has none
  std::int16_t proto_code;     ///< numbering of protobuf dump records; -1 where it has none
  std::uint8_t bits;           ///< bits of one element; 0 where elements have no fixed size
  bool nano_readable;          ///< the vendor's reader turns it into an array when it stands in a nano record
};

inline constexpr int kDTypeCount = static_cast<int>(DType::float8_e5m2fnuz) + 1;

/// Indexed by DType. Sources: CANN's GE types for ge_code, its dump_task.proto for proto_code, msaccucmp's
/// nano table for nano_readable; ONNX for the last three.
inline constexpr DTypeInfo kDTypes[kDTypeCount] = {
    {"undefined", "UNDEFINED", "", 28, 0, 8, false},
    {"float32", "FLOAT", "<f4", 0, 1, 32, true},
    {"float16", "FLOAT16", "<f2", 1, 2, 16, true},
    {"bfloat16", "BF16", "", 27, 27, 16, true},
    {"float64", "DOUBLE", "<f8", 11, 12, 64, true},
    {"int8", "INT8", "|i1", 2, 3, 8, true},
    {"int16", "INT16", "<i2", 6, 5, 16, true},
    {"int32", "INT32", "<i4", 3, 7, 32, true},
    {"int64", "INT64", "<i8", 9, 8, 64, true},
    {"uint8", "UINT8", "|u1", 4, 4, 8, true},
    {"uint16", "UINT16", "<u2", 7, 6, 16, true},
    {"uint32", "UINT32", "<u4", 8, 9, 32, true},
    {"uint64", "UINT64", "<u8", 10, 10, 64, true},
    {"bool", "BOOL", "|b1", 12, 11, 8, true},
    {"complex32", "COMPLEX32", "", 33, 32, 32, false},
    {"complex64", "COMPLEX64", "<c8", 16, 16, 64, true},
    {"complex128", "COMPLEX128", "<c16", 17, 17, 128, true},
    {"int4", "INT4", "", 29, 28, 4, false},
    {"int2", "INT2", "", 31, 30, 2, false},
    {"uint2", "UINT2", "", 32, 31, 2, false},
    {"uint1", "UINT1", "", 30, 29, 1, true},
    {"hifloat8", "HIFLOAT8", "", 34, 33, 8, false},
    {"float8_e5m2", "FLOAT8_E5M2", "", 35, 34, 8, false},
    {"float8_e4m3fn", "FLOAT8_E4M3FN", "", 36, 35, 8, false},
    {"float8_e8m0", "FLOAT8_E8M0", "", 37, 36, 8, false},
    {"float6_e3m2", "FLOAT6_E3M2", "", 38, 37, 6, false},
    {"float6_e2m3", "FLOAT6_E2M3", "", 39, 38, 6, false},
    {"float4_e2m1", "FLOAT4_E2M1", "", 40, 39, 4, false},
    {"float4_e1m2", "FLOAT4_E1M2", "", 41, 40, 4, false},
    {"hifloat4", "HIFLOAT4", "", 42, 41, 4, false},
    {"hifloat4_scale", "HIFLOAT4_SCALE", "", -1, 42, 8, false},
    {"qint8", "QINT8", "", 18, 18, 8, false},
    {"qint16", "QINT16", "", 19, 19, 16, false},
    {"qint32", "QINT32", "", 20, 20, 32, false},
    {"quint8", "QUINT8", "", 21, 21, 8, false},
    {"quint16", "QUINT16", "", 22, 22, 16, false},
    {"dual_sub_int8", "DUAL_SUB_INT8", "", 14, 14, 8, false},
    {"dual_sub_uint8", "DUAL_SUB_UINT8", "", 15, 15, 8, false},
    {"dual", "DUAL", "", 25, 25, 40, false},
    {"string", "STRING", "", 13, 13, 0, false},
    {"string_ref", "STRING_REF", "", 24, 24, 0, false},
    {"resource", "RESOURCE", "<i8", 23, 23, 64, true},
    {"variant", "VARIANT", "", 26, 26, 0, false},
    {"uint4", "UINT4", "", -1, -1, 4, false},
    {"float8_e4m3fnuz", "FLOAT8_E4M3FNUZ", "", -1, -1, 8, false},
    {"float8_e5m2fnuz", "FLOAT8_E5M2FNUZ", "", -1, -1, 8, false},
};

/// How many of the values, from the first one on, this build knows.
inline constexpr int kKnownDTypes =
    OPDUMP_SMALL_CODE != 0 ? static_cast<int>(DType::variant) + 1 : kDTypeCount;

/// Whether `dtype` is one of the values above; a cast can give others.
constexpr bool is_known(DType dtype) {
  return static_cast<int>(dtype) < kKnownDTypes;
}

/// That of `undefined` for a value that is none.
constexpr const DTypeInfo& info(DType dtype) {
  return kDTypes[is_known(dtype) ? static_cast<int>(dtype) : 0];
}

/// What a device needs to know of a dtype: without names the table takes a tenth.
struct DTypeCodes {
  std::int8_t code_and_readable;  ///< twice the GE code; plus 1 when the vendor's reader of nano records
                                  ///< makes an array of it
  std::uint8_t bits;

  constexpr std::int8_t ge_code() const { return static_cast<std::int8_t>(code_and_readable >> 1); }
  constexpr bool nano_readable() const { return (code_and_readable & 1) != 0; }
};

struct DTypeCodeTable {
  DTypeCodes codes[kKnownDTypes];
};

inline constexpr DTypeCodeTable kDTypeCodes = [] {
  DTypeCodeTable table{};
  for (int i = 0; i < kKnownDTypes; ++i) {
    table.codes[i] = {static_cast<std::int8_t>(kDTypes[i].ge_code * 2 + (kDTypes[i].nano_readable ? 1 : 0)),
                      kDTypes[i].bits};
  }
  return table;
}();

/// As `info`; small code looks only at dtypes that the recorder has found to be known.
constexpr const DTypeCodes& codes_of(DType dtype) {
  return kDTypeCodes.codes[OPDUMP_SMALL_CODE != 0 || is_known(dtype) ? static_cast<int>(dtype) : 0];
}

/// `info(dtype).cann_name`, without the table.
constexpr std::string_view cann_name_of(DType dtype) {
  constexpr auto& kNames =
      kPackedNames<kDTypes,
                   [](const DTypeInfo& known) { return static_cast<std::uint32_t>(&known - kDTypes); },
                   [](const DTypeInfo& known) { return known.cann_name; }>;
  return kNames.find(static_cast<std::uint32_t>(dtype));
}

/// The dtype of a GE/ACL code; `malformed` for a code that nobody has given out.
constexpr Result<DType> dtype_from_ge_code(std::int32_t code) {
  for (int i = 0; i < kDTypeCount; ++i) {
    if (kDTypes[i].ge_code >= 0 && kDTypes[i].ge_code == code) return static_cast<DType>(i);
  }
  return Status::malformed;
}

/// The dtype of a protobuf dump record's code; `malformed` for a code that nobody has given out.
constexpr Result<DType> dtype_from_proto_code(std::int32_t code) {
  for (int i = 0; i < kDTypeCount; ++i) {
    if (kDTypes[i].proto_code >= 0 && kDTypes[i].proto_code == code) return static_cast<DType>(i);
  }
  return Status::malformed;
}

/// The dtype called `text` in listings ("float16") or by CANN ("FLOAT16", "DT_FLOAT16"); `malformed` for
/// another text.
constexpr Result<DType> dtype_from_name(std::string_view text) {
  std::string_view cann = text.starts_with("DT_") ? text.substr(3) : text;
  for (int i = 0; i < kDTypeCount; ++i) {
    if (kDTypes[i].name == text || kDTypes[i].cann_name == cann) return static_cast<DType>(i);
  }
  return Status::malformed;
}

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump
