#pragma once
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "src/tool/judge/compare/compare_measures.hpp"
#include "src/tool/judge/compare/compare_run.hpp"

namespace opdump::tool {

class VerdictReport;

/// Everything that goes into the reports of a comparison.
struct CompareReport {
  const DumpSide& mine;
  const DumpSide& golden;
  const PairResults& results;
  const std::vector<const Measure*>& measures;
  const std::vector<Threshold>& thresholds;

  /// The limits of a tensor: in place of those of the expected error, where none is known, the usual ones; of
  /// statistics alone those of statistics.
  std::vector<Threshold> limits_of(const PairResult& result) const;
  bool diverges(const PairResult& result) const;
  std::string tensor_name(const PairResult& result) const;  ///< "conv1:output:0"
};

/// The two elements that are farthest apart, as "3.2 for 1.6".
std::string farthest_text(const compare::Comparison& comparison);

/// The limits that the comparison does not keep, as "cosine 0.5 < 0.99".
std::string broken_limits(const CompareReport& report, const PairResult& result);

/// The measures that have limits, as "cosine 0.998, euclid 0.02".
std::string measures_text(const CompareReport& report, const PairResult& result);

/// "[1,0,27]" of an element's number in row-major order.
std::string position_text(std::uint64_t at, const std::vector<Dim>& shape);

/// Gives the vendor's `result_{time}.csv` to `put`, piece by piece, until that returns false, as this then does.
bool write_compare_csv(const CompareReport& report, const std::function<bool(std::string_view)>& put);

// Each prints to stdout; `verdicts` are those of the report.

/// One JSON object.
void print_compare_json(const CompareReport& report, const VerdictReport& verdicts);

/// Which tensor diverges first, which is worst, and which could not be compared.
void print_comparison(const CompareReport& report, const VerdictReport& verdicts);

}  // namespace opdump::tool
