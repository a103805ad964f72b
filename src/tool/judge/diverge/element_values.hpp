#pragma once
#include <cstdint>
#include <optional>
#include <vector>

#include "src/tool/judge/diverge/replay_op.hpp"

namespace opdump::tool {

/// Elements that a tensor may have: more are refused.
inline constexpr std::uint64_t kMostReplayElements = std::uint64_t{1} << 28;

/// Whether they are integers of 8 bits or more, or booleans.
bool is_integer_dtype(DType dtype);

/// The product of the dims; nothing where it is more than kMostReplayElements.
std::optional<std::size_t> elements_of(Shape dims);

/// All elements as float64; nothing where they are no numbers.
std::optional<std::vector<double>> reals_of(const ReplayTensor& tensor);

/// Of the finite ones; 0 where there are none.
double mean_square_root(const std::vector<double>& values);

}  // namespace opdump::tool
