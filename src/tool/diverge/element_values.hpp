#pragma once
#include <cstdint>
#include <optional>
#include <vector>

#include "src/tool/diverge/replay_op.hpp"

namespace opdump::tool {

/// Elements that a computed tensor may have: more are refused.
inline constexpr std::uint64_t kMostReplayElements = std::uint64_t{1} << 28;

/// Whether the elements are floating-point numbers of any size.
bool is_float_dtype(DType dtype);

/// Whether they are integers of 8 bits or more, or booleans.
bool is_integer_dtype(DType dtype);

/// The product of the dims; nothing where it is more than kMostReplayElements.
std::optional<std::size_t> elements_of(Shape dims);

/// Whether the bytes are as many as dtype and dims need.
bool is_whole(const ReplayTensor& tensor);

/// All elements as float64; nothing where they are no numbers.
std::optional<std::vector<double>> reals_of(const ReplayTensor& tensor);

/// All elements of an integer tensor. Those of uint64 keep their bits.
std::vector<std::int64_t> integers_of(const ReplayTensor& tensor);

/// Of the finite ones; 0 where there are none.
double mean_square_root(const std::vector<double>& values);

/// Stores float64 elements.
void put_reals(const std::vector<double>& values, ReplayTensor& to);

/// Stores the low bits of each element, as `dtype` has them; booleans are 0 and 1.
void put_integers(DType dtype, const std::vector<std::int64_t>& values, ReplayTensor& to);

/// The least and the greatest element of an integer dtype of up to 32 bits.
struct IntegerRange {
  double least = 0;
  double most = 0;
};
IntegerRange range_of(DType dtype);

}  // namespace opdump::tool
