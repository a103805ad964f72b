#pragma once
#include <cstdint>
#include <string_view>

#include "src/tool/judge/compare/compare_run.hpp"
#include "src/tool/judge/compare/op_types.hpp"

namespace opdump::tool {

/// The one rule of what an operator is accused by: an error that is so many times what its inputs account for
/// is its own. A limit that is crossed proves nothing. Source: msprobe's warnings.
inline constexpr double kOwnGrowth = 10;

/// How far a tensor is from golden, by golden's size.
struct TensorError {
  double all = 0;  ///< the relative Euclidean distance, or that of statistics; infinite where it is no number
  double peak = 0;  ///< the greatest difference, by golden's element there or its root mean square

  // In golden's own units.
  double rms = 0;
  double most = 0;
  double elements = 0;
  double offset = 0;  ///< what all elements are off by alike
  double golden_rms = 0;
  double golden_deviation = 0;
};

bool is_equal(const PairResult& result);
TensorError error_of(const PairResult& result);

/// What the error of one input accounts for in an output whose own is `output`.
TensorError explained_by(const TensorError& input, const TensorError& output, PassesErrors passes);

/// Whether single elements of such an operator may be judged beside an input that is not equal: of one that weighs what
/// it reads only where no few elements of the input are far off, as one weight may make much of these.
bool shows_single_elements(std::string_view type, const TensorError& input);

/// What a healthy operator may add to an output, from equal inputs: the rounding of a sum of `terms` in the coarser
/// dtype of both sides, relative to golden's output or to `size`, that of the terms, where these cancel out; at most
/// 0.05 of them. Of integers one step of their scale; of indices and counts nothing.
double healthy_error(const PairResult& output, const DumpTensor& mine, const DumpTensor& golden,
                     std::uint64_t terms, double size = 0);

/// Whether a constant is no farther off than by its rounding to the coarser dtype of both sides; what lies beyond the
/// range of one becomes its end, or infinite.
bool is_rounded(const PairResult& constant, const DumpSide& mine, const DumpSide& golden);

}  // namespace opdump::tool
