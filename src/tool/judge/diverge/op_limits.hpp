#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "src/tool/judge/diverge/replay_model.hpp"

namespace opdump::tool {

/// How an operator's result may differ from the right one.
enum class OpClass : std::uint8_t {
  exact,        ///< not at all: it moves, compares or chooses elements
  rounded,      ///< by the rounding of each element
  accumulated,  ///< also by the rounding of sums of many terms
  quantised,    ///< integers that stand for real numbers, by a step
};

/// "exact", ...
std::string_view to_string(OpClass op_class);

/// What is allowed. Defaults: msprobe's standard for one operator, and float32 sums.
struct OpLimits {
  double float64 = 0x1p-44;  ///< of an element, by its own size
  double float32 = 0x1p-20;
  double float16 = 0x1p-10;
  double bfloat16 = 0x1p-8;
  double accumulate = 0x1p-20;  ///< of a sum of n terms, by the size of its terms' sum and times sqrt(n)
  double steps = 1;             ///< of a quantised element
  double step_share = 1e-3;     ///< of quantised elements that are off at all
};

/// Reads "float32=1e-5,steps=2". On false `error` says what is wrong.
bool read_op_limits(std::string_view text, OpLimits& limits, std::string& error);

/// What one output of one operator has to keep.
struct OutputLimit {
  OpClass op_class = OpClass::exact;
  double relative = 0;  ///< by the element's size
  double absolute = 0;  ///< for elements that are nearly 0
  double of_scale = 0;  ///< by the size of the tensor's elements, of sums
  double scale = 0;     ///< at least so large are they; 0: their root mean square
  double steps = 0;
  double step_share = 0;
};

/// For output `i`, of elements of `dtype`. `elements`: how many it has.
OutputLimit limit_of(const ReplayOp& op, std::size_t i, DType dtype, std::size_t elements,
                     const OpLimits& limits);

}  // namespace opdump::tool
