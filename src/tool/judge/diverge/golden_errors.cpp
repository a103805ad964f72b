#include "src/tool/judge/diverge/golden_errors.hpp"

namespace opdump::tool {

GoldenErrors::GoldenErrors(const DumpSide& mine, const DumpSide& golden)
    : limits_(usual_thresholds()), report_{mine, golden, results_, measures_, limits_} {
  results_ = compare_pairs(mine, golden, pair_tensors(mine, golden, {}), false);
}

std::optional<PairResult> GoldenErrors::of(std::size_t tensor) const {
  if (tensor >= results_.size()) return std::nullopt;
  PairResult result = results_[tensor];
  if (result.pair.mine != tensor || !result.comparison) return std::nullopt;
  return result;
}

bool GoldenErrors::diverges(std::size_t tensor) const {
  const std::optional<PairResult> result = of(tensor);
  return result && report_.diverges(*result);
}

std::string GoldenErrors::text(std::size_t tensor) const {
  const std::optional<PairResult> result = of(tensor);
  return result ? broken_limits(report_, *result) : std::string();
}

std::optional<compare::Comparison> GoldenErrors::comparison(std::size_t tensor) const {
  const std::optional<PairResult> result = of(tensor);
  return result ? result->comparison : std::nullopt;
}

}  // namespace opdump::tool
