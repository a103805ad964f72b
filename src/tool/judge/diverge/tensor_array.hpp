#pragma once
#include <string>

#include "src/tool/judge/diverge/replay_op.hpp"

namespace opdump::tool {

/// The bytes of an `.npy` file; bfloat16 becomes float32, other dtypes that NumPy has not as `opdump convert`
/// has them. False: `reason` says why there is no such array.
bool array_of(const ReplayTensor& tensor, std::string& bytes, std::string& reason);

}  // namespace opdump::tool
