#include "src/tool/judge/diverge/step_list.hpp"

#include <algorithm>
#include <optional>

#include "src/tool/cli/decimal.hpp"

namespace opdump::tool {

bool StepList::read(std::string_view text, std::string& error) {
  for (bool more = true; more;) {
    const std::size_t comma = text.find(',');
    const std::string_view item = text.substr(0, comma);
    const std::size_t dash = item.find('-');
    const std::optional<std::uint64_t> first = parse_decimal(item.substr(0, std::min(dash, item.size())));
    const std::optional<std::uint64_t> last =
        dash == std::string_view::npos ? first : parse_decimal(item.substr(dash + 1));
    if (!first || !last || *last < *first) {
      error = "'" + std::string(item) + "' is no step, nor steps as in '3-5'";
      return false;
    }
    ranges_.emplace_back(*first, *last);
    more = comma != std::string_view::npos;
    if (more) text.remove_prefix(comma + 1);
  }
  return true;
}

bool StepList::has(std::string_view place) const {
  const std::optional<std::uint64_t> step = parse_decimal(place.substr(place.rfind('/') + 1));
  return ranges_.empty() || (step && std::any_of(ranges_.begin(), ranges_.end(), [&](const auto& range) {
                               return range.first <= *step && *step <= range.second;
                             }));
}

}  // namespace opdump::tool
