#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/tool/judge/compare/compare_run.hpp"
#include "src/tool/judge/compare/open_pair.hpp"

namespace opdump::tool {

/// What the tensors of one operator, at one step, say of it.
enum class Verdict : std::uint8_t {
  agrees,    ///< its outputs do not diverge
  culprit,   ///< what diverges, here or behind it, is proved to begin with it
  victim,    ///< an output diverges, and its inputs account for that
  diverges,  ///< an output diverges, and what is known of its inputs proves nothing
  unpaired,  ///< no output of it could be compared
};

/// "culprit", ...
std::string_view to_string(Verdict verdict);

/// Why a verdict is as it is.
enum class Cause : std::uint8_t {
  none,

  // Proofs against an operator.
  own_error,        ///< its inputs do not account for its error
  layout,           ///< its output is golden's with axes in another order
  not_a_number,     ///< it makes NaNs or infinities of numbers
  saturated,        ///< its integers end where golden's numbers go on
  constant,         ///< a constant of it is another
  misread,          ///< it takes an input by another scale than that was written by
  miswritten,       ///< it has written so what another one takes rightly
  swapped_inputs,   ///< two inputs of it are in each other's place
  swapped_outputs,  ///< the same of outputs
  other_input,      ///< it reads the output of another operator than golden's does

  // Proofs of what no operator is to blame for.
  model_input,      ///< an input of the first operator, which none writes, is another
  unwritten_input,  ///< the same of other operators, or where a constant may be it, as nothing tells steps apart
  missing,          ///< an operator before it is missing
  shifted,          ///< the values of another step

  // Of no proof.
  overwritten,     ///< an input is not what its operator has written
  ambiguous,       ///< several operators are called so
  unknown_inputs,  ///< an input is in one dump alone
  unscaled,        ///< no scale is known of integers that meet real numbers
  unclear,         ///< its error is not so many times that of its inputs
};

/// Whether it says where the divergence comes from.
constexpr bool is_proof(Cause cause) {
  return cause >= Cause::own_error && cause <= Cause::shifted;
}

/// The word for it in JSON, as "own error".
std::string_view to_string(Cause cause);

/// An input that its operator takes by another scale or zero point than the one that it was written by.
struct MisreadInput {
  std::size_t result = 0;  ///< of the input, in the results
  std::string text;        ///< "zero point 128, which was written by 120"
};

/// Errors are relative Euclidean distances, or those of statistics where a side has nothing else; infinite
/// where they are no number. Numbers of tensors are those of results.
struct OpVerdict {
  Verdict verdict = Verdict::agrees;
  Cause cause = Cause::none;
  std::size_t first = 0;                        ///< of its tensors
  std::size_t file = 0;                         ///< of its first tensor, in my dump
  std::vector<std::size_t> results{};           ///< of all its tensors
  std::size_t inputs = 0;                       ///< that could be compared
  std::optional<std::size_t> bad_input{};       ///< the first one that diverges, without known constants
  std::optional<std::size_t> bad_constant{};    ///< the same of the inputs that are constants by a card
  std::optional<std::size_t> bad_output{};      ///< the same of the outputs
  std::optional<std::size_t> unequal_output{};  ///< the first one that is not equal
  std::optional<std::size_t> unequal_constant{};
  std::optional<std::size_t> other_dtype{};    ///< the first tensor that has not golden's
  std::optional<std::size_t> failed_output{};  ///< the first one that could not be compared
  std::optional<std::size_t> failed_input{};   ///< the same of the inputs, of either dump, without constants
  std::vector<std::size_t> uncompared{};       ///< constants that could not be compared, of either dump
  bool has_output = false;                     ///< one could be compared
  bool equal_inputs = true;                    ///< all that could be compared, without constants
  bool own_proof = false;    ///< an output is farther off than inputs and a healthy operator account for
  bool one_element = false;  ///< that is proved by single elements
  bool inexact =
      false;           ///< in a run that is exact but for this one, its inputs are equal and an output is not
  std::string axes{};  ///< of `layout`: golden's, in the order in which they make mine
  std::optional<ChannelGain> channel{};  ///< that is proved by this one
  bool fed = false;         ///< an operator before it, at the same step, has an output that diverges
  double input_error = 0;   ///< the greatest
  double output_error = 0;  ///< the greatest
  double explained = 0;     ///< what the inputs account for in the output
  double healthy = 0;       ///< what a healthy operator may add
  std::string problem{};    ///< why no output could be compared
  std::string doubt{};      ///< why what would be a proof is none

  std::optional<MisreadInput> misread{};      ///< where its inputs agree, and an output is not equal
  std::optional<std::size_t> misread_from{};  ///< the `first` of who wrote that input
  std::optional<std::size_t> misread_by{};    ///< that of who reads so what this one wrote
  std::optional<std::size_t> at{};            ///< the tensor that the cause is about
  std::optional<std::size_t>
      other{};  ///< the second of two that are swapped; the output that is read instead
  std::optional<std::size_t>
      golden_op{};  ///< the golden tensor of an operator that is missing, or fused into this one
  std::shared_ptr<const PairResult> fused{};  ///< in place of the output's, with that golden tensor
  std::int64_t steps = 0;                     ///< of `shifted`: golden's step less mine

  /// By how much the error of the outputs is more than that of the inputs.
  double growth() const;
};

using OpVerdicts = std::vector<OpVerdict>;

/// The operators of my dump in the order in which they ran. `diverges` tells whether a pair does.
///
/// An operator is a culprit where all its inputs but constants are in both dumps, and its error is kOwnGrowth times what
/// they account for, or they are equal and it is more than a healthy operator adds; or where what is wrong
/// with it is known by itself. What begins so within the limits, and grows beyond them, is the culprit of that.
/// Everything else is a victim, or not certain.
OpVerdicts judge_ops(const DumpSide& mine, const DumpSide& golden, const PairResults& results,
                     const std::function<bool(const PairResult&)>& diverges);

/// The number of the operator with that `first`.
std::size_t place_of(const OpVerdicts& ops, std::size_t first);

}  // namespace opdump::tool
