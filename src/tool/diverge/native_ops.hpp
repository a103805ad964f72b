#pragma once
#include <span>
#include <string_view>

#include "src/tool/diverge/native_call.hpp"

namespace opdump::tool {

/// An operator of ONNX that is computed natively.
struct NativeOp {
  std::string_view type;
  bool (*compute)(NativeCall& call);
  std::size_t inputs = 1;         ///< that must be there, from the first one on
  std::string_view attributes{};  ///< that it knows, each between blanks; any other is refused
  std::uint64_t first_opset = 1;  ///< before it, the operator meant something else
};

// By what they do. Floats are computed in float64, integers as they are.

std::span<const NativeOp> unary_ops();        ///< Relu, Clip, Cast, ...
std::span<const NativeOp> binary_ops();       ///< Add, Less, Where, Max, ...
std::span<const NativeOp> reduction_ops();    ///< ReduceSum, ArgMax, Softmax, ...
std::span<const NativeOp> reshaping_ops();    ///< Reshape, Squeeze, ...: elements keep their order
std::span<const NativeOp> movement_ops();     ///< Transpose, Slice, ...: elements keep their bytes
std::span<const NativeOp> gathering_ops();    ///< Gather, DepthToSpace, ...: the same
std::span<const NativeOp> product_ops();      ///< MatMul, Gemm, ...
std::span<const NativeOp> window_ops();       ///< Conv, MaxPool, ...
std::span<const NativeOp> normalising_ops();  ///< BatchNormalization, ...
std::span<const NativeOp> quantising_ops();   ///< QuantizeLinear, QLinearConv, ...

}  // namespace opdump::tool
