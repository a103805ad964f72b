#pragma once
#include <cstdint>
#include <iterator>

#include "opdump/types/dtype.hpp"

namespace opdump {
inline namespace OPDUMP_NAMESPACE {

/// By their numbers in ONNX's TensorProto.DataType.
inline constexpr DType kOnnxDTypes[] = {DType::undefined,
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

/// The dtype of a number of ONNX's TensorProto.DataType; undefined: there is none of that number.
constexpr DType dtype_of_onnx(std::uint64_t onnx) {
  return onnx < std::size(kOnnxDTypes) ? kOnnxDTypes[onnx] : DType::undefined;
}

/// The number of a dtype; 0: ONNX has none.
constexpr std::uint32_t onnx_of_dtype(DType dtype) {
  for (std::uint32_t onnx = 1; onnx < std::size(kOnnxDTypes); ++onnx) {
    if (kOnnxDTypes[onnx] == dtype) return onnx;
  }
  return 0;
}

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump
