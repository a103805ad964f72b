#include "src/tool/report/page_tensors.hpp"

#include <algorithm>

namespace opdump::tool {

PageTensors::PageTensors(const ReportFacts& facts, PageDetail detail)
    : facts_(facts),
      detail_(detail),
      is_flagged_(facts.dumps.mine().tensors.size()),
      rows_(facts.dumps.mine().tensors.size(), kNone) {
  for (const std::size_t i : facts.flagged) is_flagged_[i] = true;
  for (const ReportRun& run : facts.runs) {
    const bool flagged =
        std::any_of(run.tensors.begin(), run.tensors.end(), [&](std::size_t i) { return is_flagged_[i]; });
    for (const std::size_t i : run.tensors) {
      if (!flagged && detail >= PageDetail::flagged_tensors) continue;
      if (!flagged && detail >= PageDetail::outputs && !facts.dumps.mine().tensors[i].is_output) continue;
      rows_[i] = static_cast<std::uint32_t>(chosen_.size());
      chosen_.push_back(i);
    }
  }
}

bool PageTensors::has_histogram(std::size_t tensor) const {
  if (detail_ >= PageDetail::none) return false;
  if (detail_ == PageDetail::all) return true;
  return is_flagged_[tensor] &&
         (detail_ == PageDetail::flagged || facts_.dumps.mine().tensors[tensor].is_output);
}

}  // namespace opdump::tool
