#pragma once
#include <cstddef>
#include <optional>
#include <span>
#include <string>

#include "src/tool/judge/compare/compare_run.hpp"

namespace opdump::tool {

/// An input that its operator takes by another scale or zero point than the one that it was written by.
struct MisreadInput {
  std::size_t result = 0;  ///< of the input, in the results
  std::string text;        ///< "zero point 128, which was written by 120"
};

/// The first such input, with results for the tensors of one operator at one step; nothing where there is
/// none, or where the dump does not hold what the operator reads it by. Only DequantizeLinear and the QLinear
/// operators of ONNX have their scales as inputs.
std::optional<MisreadInput> find_misread_input(const DumpSide& mine, const PairResults& results,
                                               std::span<const std::size_t> of_operator);

}  // namespace opdump::tool
