#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "src/tool/judge/compare/compare_run.hpp"

namespace opdump::tool {

/// What operators of this type are called here, whatever their runtime calls them: "conv" of "Conv2D", "CONV_2D" and
/// "QLinearConv". A type that is not known stays, in small letters without punctuation; empty for an empty one.
std::string canonical_type(std::string_view type);

/// Whether a word is one of those of a list, with spaces between.
bool has_word(std::string_view words, std::string_view word);

/// Whether one of that type runs other operators, which may read what is no input of it.
bool runs_others(std::string_view type);

/// Which input of the operator for real numbers one of `type` is: an operator of ONNX for integers has scales and zero
/// points between. Those are beyond all others.
std::uint32_t real_input(std::string_view type, std::uint32_t index);

/// The part of a name that runtimes agree on: without a prefix up to '!', what follows ';' or ':', slashes at
/// the start, and a last part that is a type; in small letters, with '_' for other punctuation.
std::string common_name(std::string_view name);

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

/// How an operator passes errors of its inputs on.
enum class PassesErrors : std::uint8_t {
  by_size,      ///< by the size of its output, as convolutions do: what counts is the relative error
  by_unit,      ///< at most as they are, as sums, choices and saturating functions do
  by_exponent,  ///< a difference in an input is a relative one in the output
  without_bound  ///< any difference may become any other, as in roundings, quotients and comparisons; also types not known
};

/// Whether an operator of that type may give others for equal inputs, as what it draws is random.
bool is_random(std::string_view type);

/// Whether it reads what is no input of it: a variable that another operator, or an earlier step, has written.
bool reads_state(std::string_view type);

/// Whether it has a state from step to step, which may be an input of it.
bool is_recurrent(std::string_view type);

/// Whether it gives the elements of an input in another order, or some of them, so that statistics tell nothing of it.
bool moves_elements(std::string_view type);

PassesErrors passes_errors(std::string_view type);

/// What the error of one input accounts for in an output whose own is `output`.
TensorError explained_by(const TensorError& input, const TensorError& output, PassesErrors passes);

/// Whether such an operator makes no number of some that are: logarithms, roots, quotients.
bool has_domain(std::string_view type);

/// How many inputs such an operator has at least.
std::size_t least_inputs(std::string_view type);

/// Whether each channel of such an operator's output is a sum of its own.
bool sums_channels(std::string_view type);

/// Whether inputs of such an operator but the first mostly are weights of the model.
bool has_weights(std::string_view type);

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
