#include "opdump/base/status.hpp"

#include "opdump/opdump.h"
#include "opdump/types/dtype.hpp"
#include "opdump/types/format.hpp"
#include "src/c_api/c_port.hpp"

namespace opdump::c_api {
inline namespace OPDUMP_NAMESPACE {
namespace {

// The numbers of opdump.h are those of the C++ enumerations.
#define OPDUMP_SAME_STATUS(c, cpp) static_assert(OPDUMP_ERR_##c == static_cast<int>(Status::cpp))
OPDUMP_SAME_STATUS(NOT_INITIALISED, not_initialised);
OPDUMP_SAME_STATUS(ALREADY_INITIALISED, already_initialised);
OPDUMP_SAME_STATUS(MODEL_NOT_LOADED, model_not_loaded);
OPDUMP_SAME_STATUS(MODEL_ALREADY_LOADED, model_already_loaded);
OPDUMP_SAME_STATUS(STEP_OPEN, step_open);
OPDUMP_SAME_STATUS(STEP_NOT_OPEN, step_not_open);
OPDUMP_SAME_STATUS(DRAINER_ATTACHED, drainer_attached);
OPDUMP_SAME_STATUS(RECORDER_BUSY, recorder_busy);
OPDUMP_SAME_STATUS(INVALID_ARGUMENT, invalid_argument);
OPDUMP_SAME_STATUS(INVALID_TENSOR, invalid_tensor);
OPDUMP_SAME_STATUS(NO_SUCH_OP, no_such_op);
OPDUMP_SAME_STATUS(NAME_TOO_LONG, name_too_long);
OPDUMP_SAME_STATUS(NO_MEMORY, no_memory);
OPDUMP_SAME_STATUS(NO_FREE_RECORDER, no_free_recorder);
OPDUMP_SAME_STATUS(TOO_MANY_TENSORS, too_many_tensors);
OPDUMP_SAME_STATUS(TOO_MANY_CONFIGS, too_many_configs);
OPDUMP_SAME_STATUS(UNKNOWN_DTYPE, unknown_dtype);
OPDUMP_SAME_STATUS(UNCOUNTABLE_SHAPE, uncountable_shape);
OPDUMP_SAME_STATUS(TOO_MANY_DIMS, too_many_dims);
OPDUMP_SAME_STATUS(MISSING_ARGUMENT, missing_argument);
OPDUMP_SAME_STATUS(UNRECORDABLE, unrecordable);
OPDUMP_SAME_STATUS(RING_FULL, ring_full);
OPDUMP_SAME_STATUS(TOO_LARGE, too_large);
OPDUMP_SAME_STATUS(TIMEOUT, timeout);
OPDUMP_SAME_STATUS(UNFINISHED, unfinished);
OPDUMP_SAME_STATUS(DEGRADED, degraded);
OPDUMP_SAME_STATUS(DEVICE_COPY_FAILED, device_copy_failed);
OPDUMP_SAME_STATUS(NOT_FOUND, not_found);
OPDUMP_SAME_STATUS(ALREADY_EXISTS, already_exists);
OPDUMP_SAME_STATUS(PERMISSION_DENIED, permission_denied);
OPDUMP_SAME_STATUS(NO_SPACE, no_space);
OPDUMP_SAME_STATUS(IO, io_error);
OPDUMP_SAME_STATUS(NOT_SUPPORTED, not_supported);
OPDUMP_SAME_STATUS(TOO_MANY_OBJECTS, too_many_objects);
OPDUMP_SAME_STATUS(QUOTA_EXCEEDED, quota_exceeded);
OPDUMP_SAME_STATUS(FILE_TOO_LARGE, file_too_large);
OPDUMP_SAME_STATUS(LIBRARY_MISSING, library_missing);
OPDUMP_SAME_STATUS(SYMBOL_MISSING, symbol_missing);
OPDUMP_SAME_STATUS(DRIVER_FAILED, driver_failed);
OPDUMP_SAME_STATUS(WRONG_DEVICE, wrong_device);
OPDUMP_SAME_STATUS(NOT_REGISTERED, not_registered);
OPDUMP_SAME_STATUS(CONFIG_REFUSED, config_refused);
OPDUMP_SAME_STATUS(NOT_A_RECORD, not_a_record);
OPDUMP_SAME_STATUS(TRUNCATED, truncated);
OPDUMP_SAME_STATUS(MALFORMED, malformed);
OPDUMP_SAME_STATUS(NOT_A_PLAN, not_a_plan);
OPDUMP_SAME_STATUS(WRONG_BYTE_ORDER, wrong_byte_order);
OPDUMP_SAME_STATUS(DAMAGED, damaged);
OPDUMP_SAME_STATUS(NEWER_VERSION, newer_version);
#undef OPDUMP_SAME_STATUS

constexpr int kStatuses = [] {
  int count = 0;
  for (opdump_status status = 0; status < 0xff; ++status)
    count += status == OPDUMP_OK || from_c(status, Status::ok) != Status::ok ? 1 : 0;
  return count;
}();
static_assert(kStatuses == 50, "opdump.h has to have each status");

#define OPDUMP_SAME_DTYPE(c, cpp) static_assert(OPDUMP_##c == static_cast<int>(DType::cpp))
OPDUMP_SAME_DTYPE(UNDEFINED, undefined);
OPDUMP_SAME_DTYPE(FLOAT32, float32);
OPDUMP_SAME_DTYPE(FLOAT16, float16);
OPDUMP_SAME_DTYPE(BFLOAT16, bfloat16);
OPDUMP_SAME_DTYPE(FLOAT64, float64);
OPDUMP_SAME_DTYPE(INT8, int8);
OPDUMP_SAME_DTYPE(INT16, int16);
OPDUMP_SAME_DTYPE(INT32, int32);
OPDUMP_SAME_DTYPE(INT64, int64);
OPDUMP_SAME_DTYPE(UINT8, uint8);
OPDUMP_SAME_DTYPE(UINT16, uint16);
OPDUMP_SAME_DTYPE(UINT32, uint32);
OPDUMP_SAME_DTYPE(UINT64, uint64);
OPDUMP_SAME_DTYPE(BOOLEAN, boolean);
OPDUMP_SAME_DTYPE(COMPLEX32, complex32);
OPDUMP_SAME_DTYPE(COMPLEX64, complex64);
OPDUMP_SAME_DTYPE(COMPLEX128, complex128);
OPDUMP_SAME_DTYPE(INT4, int4);
OPDUMP_SAME_DTYPE(INT2, int2);
OPDUMP_SAME_DTYPE(UINT2, uint2);
OPDUMP_SAME_DTYPE(UINT1, uint1);
OPDUMP_SAME_DTYPE(HIFLOAT8, hifloat8);
OPDUMP_SAME_DTYPE(FLOAT8_E5M2, float8_e5m2);
OPDUMP_SAME_DTYPE(FLOAT8_E4M3FN, float8_e4m3fn);
OPDUMP_SAME_DTYPE(FLOAT8_E8M0, float8_e8m0);
OPDUMP_SAME_DTYPE(FLOAT6_E3M2, float6_e3m2);
OPDUMP_SAME_DTYPE(FLOAT6_E2M3, float6_e2m3);
OPDUMP_SAME_DTYPE(FLOAT4_E2M1, float4_e2m1);
OPDUMP_SAME_DTYPE(FLOAT4_E1M2, float4_e1m2);
OPDUMP_SAME_DTYPE(HIFLOAT4, hifloat4);
OPDUMP_SAME_DTYPE(HIFLOAT4_SCALE, hifloat4_scale);
OPDUMP_SAME_DTYPE(QINT8, qint8);
OPDUMP_SAME_DTYPE(QINT16, qint16);
OPDUMP_SAME_DTYPE(QINT32, qint32);
OPDUMP_SAME_DTYPE(QUINT8, quint8);
OPDUMP_SAME_DTYPE(QUINT16, quint16);
OPDUMP_SAME_DTYPE(DUAL_SUB_INT8, dual_sub_int8);
OPDUMP_SAME_DTYPE(DUAL_SUB_UINT8, dual_sub_uint8);
OPDUMP_SAME_DTYPE(DUAL, dual);
OPDUMP_SAME_DTYPE(STRING, string);
OPDUMP_SAME_DTYPE(STRING_REF, string_ref);
OPDUMP_SAME_DTYPE(RESOURCE, resource);
OPDUMP_SAME_DTYPE(VARIANT, variant);
OPDUMP_SAME_DTYPE(UINT4, uint4);
OPDUMP_SAME_DTYPE(FLOAT8_E4M3FNUZ, float8_e4m3fnuz);
OPDUMP_SAME_DTYPE(FLOAT8_E5M2FNUZ, float8_e5m2fnuz);
static_assert(kDTypeCount == OPDUMP_FLOAT8_E5M2FNUZ + 1);
#undef OPDUMP_SAME_DTYPE

#define OPDUMP_SAME_FORMAT(c, cpp) static_assert(OPDUMP_FORMAT_##c == static_cast<int>(Format::cpp))
OPDUMP_SAME_FORMAT(NCHW, nchw);
OPDUMP_SAME_FORMAT(NHWC, nhwc);
OPDUMP_SAME_FORMAT(ND, nd);
OPDUMP_SAME_FORMAT(NC1HWC0, nc1hwc0);
OPDUMP_SAME_FORMAT(FRACTAL_Z, fractal_z);
OPDUMP_SAME_FORMAT(NC1HWC0_C04, nc1hwc0_c04);
OPDUMP_SAME_FORMAT(FRACTAL_Z_C04, fractal_z_c04);
OPDUMP_SAME_FORMAT(CHWN, chwn);
OPDUMP_SAME_FORMAT(HWCN, hwcn);
OPDUMP_SAME_FORMAT(NDHWC, ndhwc);
OPDUMP_SAME_FORMAT(FRACTAL_NZ, fractal_nz);
OPDUMP_SAME_FORMAT(NCDHW, ncdhw);
OPDUMP_SAME_FORMAT(DHWCN, dhwcn);
OPDUMP_SAME_FORMAT(NDC1HWC0, ndc1hwc0);
OPDUMP_SAME_FORMAT(FRACTAL_Z_3D, fractal_z_3d);
OPDUMP_SAME_FORMAT(NCL, ncl);
#undef OPDUMP_SAME_FORMAT

}  // namespace
}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::c_api

extern "C" {

std::uint32_t opdump_api_version(void) {
  return std::uint32_t{OPDUMP_API_MAJOR} << 16 | OPDUMP_API_MINOR;
}

const char* opdump_version(void) {
  return OPDUMP_VERSION;
}

const char* opdump_status_text(opdump_status status) {
  using namespace opdump;
  // The texts are literals, which end with a zero.
  return to_string(c_api::from_c(status, static_cast<Status>(0xff))).data();
}

}  // extern "C"
