#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "src/tool/judge/compare/compare_side.hpp"

namespace opdump::tool {

/// What places of ours, "model/step", are called on the golden side.
class GoldenPlaces {
 public:
  GoldenPlaces(const DumpSide& mine, const DumpSide& golden);

  /// Empty for a place that only our side tells; of two dumps with one model each, the step counts alone.
  std::string golden_place(const std::string& place) const;

 private:
  bool told_ = false;
  std::optional<std::string> only_model_;
};

/// One operator at one time.
struct OperatorRun {
  std::size_t file = 0;  ///< of the first tensor, in `DumpSide::files`
  std::map<std::pair<bool, std::uint32_t>, std::size_t> tensors;  ///< by whether it is an output, and index
};

/// The operators of a dump in the order in which they ran, by place; by the golden place of ours if `places`
/// is not null.
std::map<std::string, std::vector<OperatorRun>> operator_runs(const DumpSide& side,
                                                              const GoldenPlaces* places);

}  // namespace opdump::tool
