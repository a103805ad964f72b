#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace opdump::tool {

/// What operators of this type are called here, whatever their runtime calls them: "conv" of "Conv2D", "CONV_2D" and
/// "QLinearConv". A type that is not known stays, in small letters without punctuation; empty for an empty one.
std::string canonical_type(std::string_view type);

/// Whether a word is one of those of a list, with spaces between.
bool has_word(std::string_view words, std::string_view word);

/// Which input of the operator for real numbers one of `type` is: an operator of ONNX for integers has scales and zero
/// points between. Those are beyond all others.
std::uint32_t real_input(std::string_view type, std::uint32_t index);

/// The part of a name that runtimes agree on: without a prefix up to '!', what follows ';' or ':', slashes at
/// the start, and a last part that is a type; in small letters, with '_' for other punctuation.
std::string common_name(std::string_view name);

/// How an operator passes errors of its inputs on.
enum class PassesErrors : std::uint8_t {
  by_size,      ///< by the size of its output, as convolutions do: what counts is the relative error
  by_unit,      ///< at most as they are, as sums, choices and saturating functions do
  by_exponent,  ///< a difference in an input is a relative one in the output
  without_bound  ///< any difference may become any other, as in roundings, quotients and comparisons; also types not known
};

/// What the outputs of such an operator depend on besides its `inputs` in the dump, as a sentence: the operators that it
/// runs, chance, or a state; empty: nothing that is known.
std::string_view hidden_inputs(std::string_view type, std::size_t inputs);

/// Whether each element of its output is one of its first input, or of a constant of the model.
bool only_moves(std::string_view type);

/// Whether its output has the scale of its first input: it moves and chooses elements, or weighs them alike.
bool keeps_scale(std::string_view type);

/// Whether each element of its output is made of the element of its one input in that place alone.
bool ignores_order(std::string_view type);

PassesErrors passes_errors(std::string_view type);

/// What a logarithm, root or quotient has numbers for.
struct Domain {
  double least;
  double most;           ///< of its first input, with both ends
  bool divides = false;  ///< by its last input, which is 0 nowhere
};

/// Nothing: the operator has numbers for all.
std::optional<Domain> domain_of(std::string_view type);

/// How many inputs such an operator has at least.
std::size_t least_inputs(std::string_view type);

/// Whether each channel of such an operator's output is a sum of its own.
bool sums_channels(std::string_view type);

/// Whether inputs of such an operator but the first mostly are weights of the model.
bool has_weights(std::string_view type);

}  // namespace opdump::tool
