#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "src/tool/compare/compare_run.hpp"

namespace opdump::tool {

/// What the tensors of one operator, at one step, say of it.
enum class Verdict : std::uint8_t {
  agrees,    ///< its outputs do not diverge
  culprit,   ///< an output diverges, and none of its inputs does
  victim,    ///< an output diverges, and so does an input
  diverges,  ///< an output diverges, and no input of it could be compared
  unpaired,  ///< no output of it could be compared
};

/// "culprit", ...
std::string_view to_string(Verdict verdict);

struct OpVerdict {
  Verdict verdict = Verdict::agrees;
  std::size_t file = 0;                     ///< of its first tensor, in my dump
  std::size_t inputs = 0;                   ///< that could be compared
  std::optional<std::size_t> bad_input{};   ///< the first one that diverges, in the results
  std::optional<std::size_t> bad_output{};  ///< the same of the outputs
  bool fed = false;       ///< an operator before it, at the same step, has an output that diverges
  std::string problem{};  ///< why no output could be compared
};

/// The operators of my dump in the order in which they ran. `diverges` tells whether a pair does.
std::vector<OpVerdict> judge_ops(const DumpSide& mine, const std::vector<PairResult>& results,
                                 const std::function<bool(const PairResult&)>& diverges);

}  // namespace opdump::tool
