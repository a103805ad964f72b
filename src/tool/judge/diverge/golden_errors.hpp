#pragma once
#include <optional>
#include <string>
#include <vector>

#include "src/tool/judge/compare/compare_report.hpp"
#include "src/tool/judge/compare/compare_run.hpp"

namespace opdump::tool {

/// How far the tensors of a dump are from those of a golden one: the errors of all operators so far. Refers
/// to both dumps.
class GoldenErrors {
 public:
  /// Compares all that have a partner, by the limits that `opdump compare` has unless told.
  GoldenErrors(const DumpSide& mine, const DumpSide& golden);

  bool is_compared(std::size_t tensor) const { return of(tensor).has_value(); }
  bool diverges(std::size_t tensor) const;

  /// "cosine 0.5 < 0.99"; empty where it keeps its limits.
  std::string text(std::size_t tensor) const;

  /// Nothing: it was not compared.
  std::optional<compare::Comparison> comparison(std::size_t tensor) const;

 private:
  std::optional<PairResult> of(std::size_t tensor) const;

  PairResults results_;  ///< ours first, in their order
  std::vector<const Measure*> measures_;
  std::vector<Threshold> limits_;
  CompareReport report_;
};

}  // namespace opdump::tool
