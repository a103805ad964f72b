#pragma once
#include <cstdint>
#include <iterator>

#include "opdump/types/dtype.hpp"

namespace opdump {
inline namespace OPDUMP_NAMESPACE {

/// The dtype of a number of ONNX's TensorProto.DataType; undefined: there is none of that number.
constexpr DType dtype_of_onnx(std::uint64_t onnx) {
  constexpr DType kOnnxDTypes[] = {DType::undefined,
                                   DType::float32,
                                   DType::uint8,
                                   DType::int8,
                                   DType::uint16,
                                   DType::int16,
                                   DType::int32,
                                   DType::int64,
                                   DType::string,
                                   DType::boolean,
                                   DType::float16,
                                   DType::float64,
                                   DType::uint32,
                                   DType::uint64,
                                   DType::complex64,
                                   DType::complex128,
                                   DType::bfloat16,
                                   DType::float8_e4m3fn,
                                   DType::float8_e4m3fnuz,
                                   DType::float8_e5m2,
                                   DType::float8_e5m2fnuz,
                                   DType::uint4,
                                   DType::int4,
                                   DType::float4_e2m1};
  return onnx < std::size(kOnnxDTypes) ? kOnnxDTypes[onnx] : DType::undefined;
}

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump
