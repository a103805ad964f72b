#pragma once
#include <memory>
#include <string>

#include "src/tool/judge/diverge/op_reference.hpp"

namespace opdump::tool {

/// Computes operators by ONNX Runtime, in one thread and without optimisations: each in a model of its own,
/// whose sessions are kept for operators that are alike but for their shapes. Where the runtime has no
/// bfloat16 for an operator, it computes float32 of the same inputs. `path`: as `load_ort` has it. Null:
/// `reason` names the library, and says why it cannot be used.
std::unique_ptr<OpReference> open_ort(const std::string& path, std::string& reason);

}  // namespace opdump::tool
