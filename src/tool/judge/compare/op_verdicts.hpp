#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "src/tool/judge/compare/compare_run.hpp"
#include "src/tool/judge/compare/misread_inputs.hpp"

namespace opdump::tool {

/// What the tensors of one operator, at one step, say of it.
enum class Verdict : std::uint8_t {
  agrees,    ///< its outputs do not diverge
  culprit,   ///< what diverges, here or behind it, begins with it
  victim,    ///< an output diverges, and its inputs account for that
  diverges,  ///< an output diverges, and no input of it could be compared
  unpaired,  ///< no output of it could be compared
};

/// "culprit", ...
std::string_view to_string(Verdict verdict);

/// Errors are relative Euclidean distances, or those of statistics where a side has nothing else; infinite
/// where they are no number.
struct OpVerdict {
  Verdict verdict = Verdict::agrees;
  std::size_t first = 0;                        ///< of its tensors, in the results
  std::size_t file = 0;                         ///< of its first tensor, in my dump
  std::size_t inputs = 0;                       ///< that could be compared
  std::optional<std::size_t> bad_input{};       ///< the first one that diverges, in the results; no constant
  std::optional<std::size_t> bad_constant{};    ///< the same of the inputs that are constants by a card
  std::optional<std::size_t> bad_output{};      ///< the same of the outputs
  std::optional<std::size_t> unequal_output{};  ///< the first one that is not equal
  std::optional<std::size_t> unequal_constant{};
  std::optional<std::size_t> other_dtype{};  ///< the first tensor that has not golden's
  bool equal_inputs = true;                  ///< all that could be compared, without constants
  double input_error = 0;                    ///< the greatest, without that of constants
  double output_error = 0;                   ///< the greatest
  double rounding = 0;                       ///< an error that the dtypes alone account for
  bool fed = false;       ///< an operator before it, at the same step, has an output that diverges
  std::string problem{};  ///< why no output could be compared
  std::optional<std::size_t> failed_output{};  ///< the first one that could not be, in the results
  std::optional<MisreadInput> misread{};       ///< where its inputs agree, and an output is not equal
  std::optional<std::size_t>
      misread_from{};                       ///< the `first` of who wrote that input by a constant of its own
  std::optional<std::size_t> misread_by{};  ///< that of who reads so what this one wrote

  /// By how much the error of the outputs is more than that of the inputs.
  double growth() const;
};

using OpVerdicts = std::vector<OpVerdict>;

/// The operators of my dump in the order in which they ran. `diverges` tells whether a pair does.
///
/// An operator whose inputs agree within the limits may still be a victim, of an error that was within them
/// and has grown. Where most operators with equal inputs have equal outputs, both dumps were computed alike,
/// and errors begin where inputs are equal and an output is not. Elsewhere they begin where an output's error
/// is many times that of the inputs. Where the first operator that diverges has less than twice the error of
/// its inputs, no operator alone is to blame for it.
///
/// Quantised outputs may be equal by the scale or zero point that their operator has written them by, and be
/// read by another one. To blame for that is which of the two has another constant than golden.
OpVerdicts judge_ops(const DumpSide& mine, const DumpSide& golden, const PairResults& results,
                     const std::function<bool(const PairResult&)>& diverges);

/// The number of the operator with that `first`.
std::size_t place_of(const OpVerdicts& ops, std::size_t first);

}  // namespace opdump::tool
