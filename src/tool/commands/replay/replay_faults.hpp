#pragma once
#include <cstddef>
#include <span>

#include "src/tool/commands/replay/made_memory.hpp"
#include "src/tool/read/run/run_file.hpp"

namespace opdump::tool {

/// Overwrites an element of the first floating-point output of `op`, whose outputs lie at `outputs`: with an
/// infinity, or with a NaN.
void break_output(MadeMemory& memory, const RunOp& op, std::span<const TensorView> outputs, bool nan);

/// Overwrites bytes of the victim's first output, which lies at `output`, each with a different value.
Status trample(MadeMemory& memory, const RunFault& fault, Address output);

}  // namespace opdump::tool
