#include "src/tool/page/page_tensors.hpp"

#include <algorithm>

namespace opdump::tool {

PageTensors::PageTensors(const ReportFacts& facts, PageDetail detail, Progress& progress)
    : facts_(facts), detail_(detail) {
  for (const std::size_t i : facts.flagged) rows_[i] = kNone;
  for (const ReportRun& run : facts.runs) {
    progress.add();
    const bool flagged =
        std::any_of(run.tensors.begin(), run.tensors.end(), [&](std::size_t i) { return is_flagged(i); });
    if (!flagged && detail >= PageDetail::flagged_tensors) continue;
    for (const std::size_t i : run.tensors) {
      if (!flagged && detail >= PageDetail::outputs && !facts.dumps.mine().tensors[i].is_output) continue;
      if (const auto found = rows_.find(i); found != rows_.end())
        found->second = static_cast<std::uint32_t>(chosen_.size());
      chosen_.push_back(i);
    }
  }
}

std::uint32_t PageTensors::row(std::size_t tensor) const {
  const auto found = rows_.find(tensor);
  return found == rows_.end() ? kNone : found->second;
}

bool PageTensors::has_histogram(std::size_t tensor) const {
  if (detail_ >= PageDetail::none) return false;
  if (detail_ == PageDetail::all) return true;
  return is_flagged(tensor) &&
         (detail_ == PageDetail::flagged || facts_.dumps.mine().tensors[tensor].is_output);
}

}  // namespace opdump::tool
