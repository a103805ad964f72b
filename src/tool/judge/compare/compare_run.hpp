#pragma once
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "src/tool/judge/compare/comparison.hpp"
#include "src/tool/judge/compare/name_pairing.hpp"

namespace opdump::tool {

/// The result of one pair.
struct PairResult {
  TensorPair pair;
  std::optional<compare::Comparison> comparison;  ///< nothing: `problem` says why
  std::string problem;
  std::string remark;      ///< what else to know about the comparison; mostly empty
  bool unscaled = false;   ///< integers met real numbers that they may stand for, and no scale is known
  std::vector<Dim> shape;  ///< of the compared elements; empty without comparison
};

/// In the order of the pairs.
using PairResults = std::vector<PairResult>;

/// What error is to be expected of a tensor whose precision is lower than the golden one's.
struct ExpectedErrors {
  const DumpSide* side = nullptr;                   ///< that of a dump of that precision; null: none
  std::vector<std::optional<std::size_t>> tensors;  ///< of `side`, by the number of the golden tensor
  bool rounded = false;                             ///< that of the golden tensor, rounded to my dtype
};

/// Compares all pairs, with `detail` all that are not equal also in detail; without it only those with NaNs
/// or infinities: several small ones at a time, and each large one on all threads. The results are in the
/// order of `pairs`. Shows its progress on a terminal. Ends early, with the results so far, when interrupted.
PairResults compare_pairs(const DumpSide& mine, const DumpSide& golden, const TensorPairs& pairs, bool detail,
                          const ExpectedErrors& expected = {});

}  // namespace opdump::tool
