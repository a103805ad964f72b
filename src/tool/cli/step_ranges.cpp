#include "src/tool/cli/step_ranges.hpp"

#include <algorithm>
#include <optional>

#include "src/tool/cli/decimal.hpp"

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

bool ChosenSteps::read(std::string_view text, std::string& error) {
  for (bool more = true; more;) {
    const std::size_t end = text.find_first_of(",|");
    const std::string_view item = text.substr(0, end);
    const std::size_t dash = std::min(item.find('-'), item.size());
    const std::optional<std::uint64_t> first = parse_decimal(item.substr(0, dash));
    const std::optional<std::uint64_t> last =
        dash == item.size() ? first : parse_decimal(item.substr(dash + 1));
    if (!first || !last || *last < *first) {
      error = "'" + std::string(item) + "' is no step, nor steps as in '3-5'";
      return false;
    }
    ranges_.push_back({*first, *last});
    more = end != std::string_view::npos;
    if (more) text.remove_prefix(end + 1);
  }
  return true;
}

bool ChosenSteps::takes(std::string_view place) const {
  if (ranges_.empty() || place.empty()) return true;
  const std::optional<std::uint64_t> step = parse_decimal(place.substr(place.rfind('/') + 1));
  return step && std::any_of(ranges_.begin(), ranges_.end(), [&](const StepRange& range) {
           return range.first <= *step && *step <= range.last;
         });
}

}  // namespace opdump::tool
