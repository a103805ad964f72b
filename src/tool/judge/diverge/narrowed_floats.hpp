#pragma once
#include "src/tool/judge/diverge/replay_op.hpp"

namespace opdump::tool {

/// A tensor of float64 as one of float32, float16 or bfloat16, rounded to the nearest, and to the even one of
/// two. False for other dtypes.
bool narrow_floats(const ReplayTensor& from, DType dtype, ReplayTensor& to);

}  // namespace opdump::tool
