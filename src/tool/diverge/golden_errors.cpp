#include "src/tool/diverge/golden_errors.hpp"

namespace opdump::tool {

GoldenErrors::GoldenErrors(const DumpSide& mine, const DumpSide& golden)
    : results_(compare_pairs(mine, golden, pair_tensors(mine, golden), false)),
      limits_(usual_thresholds()),
      report_{mine, golden, results_, measures_, limits_} {}

const PairResult* GoldenErrors::of(std::size_t tensor) const {
  const PairResult* const result = tensor < results_.size() ? &results_[tensor] : nullptr;
  return result != nullptr && result->pair.mine == tensor && result->comparison ? result : nullptr;
}

bool GoldenErrors::diverges(std::size_t tensor) const {
  const PairResult* const result = of(tensor);
  return result != nullptr && report_.diverges(*result);
}

std::string GoldenErrors::text(std::size_t tensor) const {
  const PairResult* const result = of(tensor);
  return result == nullptr ? std::string() : broken_limits(report_, *result);
}

const compare::Comparison* GoldenErrors::comparison(std::size_t tensor) const {
  const PairResult* const result = of(tensor);
  return result == nullptr ? nullptr : &*result->comparison;
}

}  // namespace opdump::tool
