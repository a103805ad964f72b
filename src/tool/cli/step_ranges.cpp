#include "src/tool/cli/step_ranges.hpp"

#include <algorithm>

namespace opdump::tool {

void StepRanges::add(std::uint64_t first, std::uint64_t last) {
  if (!ranges_.empty()) {
    StepRange& latest = ranges_.back();
    if (first >= latest.first && (first <= latest.last || first - 1 == latest.last)) {
      latest.last = std::max(latest.last, last);
      return;
    }
  }
  ranges_.push_back({first, last});
}

const std::vector<StepRange>& StepRanges::merged() {
  std::vector<StepRange> ranges;
  ranges.swap(ranges_);
  std::sort(ranges.begin(), ranges.end(),
            [](const StepRange& a, const StepRange& b) { return a.first < b.first; });
  for (const StepRange& range : ranges) add(range.first, range.last);
  return ranges_;
}

std::string StepRanges::text() {
  constexpr std::size_t kMostRanges = 6;
  const std::vector<StepRange>& ranges = merged();
  std::string text;
  for (std::size_t i = 0; i < ranges.size() && i < kMostRanges; ++i) {
    text += (i == 0 ? "" : ", ") + std::to_string(ranges[i].first);
    if (ranges[i].last != ranges[i].first) text += '-' + std::to_string(ranges[i].last);
  }
  if (ranges.size() > kMostRanges)
    text += " and " + std::to_string(ranges.size() - kMostRanges) + " more ranges";
  const bool one = ranges.size() == 1 && ranges[0].first == ranges[0].last;
  return (one ? "step " : "steps ") + text;
}

}  // namespace opdump::tool
