#pragma once
#include <string>
#include <vector>

#include "src/tool/compare/compare_measures.hpp"
#include "src/tool/compare/compare_run.hpp"

namespace opdump::tool {

/// Everything that the reports of a comparison are made of.
struct CompareReport {
  const DumpSide& mine;
  const DumpSide& golden;
  const std::vector<PairResult>& results;
  const std::vector<const Measure*>& measures;
  const std::vector<Threshold>& thresholds;

  bool diverges(const PairResult& result) const;
  std::string tensor_name(const PairResult& result) const;  ///< "conv1:output:0"
};

/// The vendor's `result_{time}.csv`.
std::string compare_csv(const CompareReport& report);

/// One JSON object.
std::string compare_json(const CompareReport& report);

/// Prints who diverges first, who is worst, and what could not be compared.
void print_comparison(const CompareReport& report);

}  // namespace opdump::tool
