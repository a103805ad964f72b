#include "src/config/cann/dump_step.hpp"

#include <algorithm>
#include <charconv>
#include <utility>

#include "src/config/refusal.hpp"

namespace opdump::config {
inline namespace OPDUMP_NAMESPACE {
namespace {

constexpr std::size_t kMaxItems = 100;

enum class Rules : std::uint8_t {
  cann,       ///< numbers of more than 64 bits count as the largest step, and ranges are compared by `strtol`
  mindspore,  ///< unsigned numbers of 64 bits
};

/// Digits only.
bool parse_number(std::string_view text, Rules rules, std::uint64_t& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error == std::errc::result_out_of_range && rules == Rules::cann) {
    number = UINT64_MAX;
    return true;
  }
  return error == std::errc{} && end == text.data() + text.size();
}

bool runs_backwards(const StepRange& range, Rules rules) {
  const std::uint64_t largest = rules == Rules::cann ? std::uint64_t{INT64_MAX} : UINT64_MAX;
  return std::min(range.first, largest) > std::min(range.last, largest);
}

bool only_digits(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

bool parse_range(std::string_view item, Rules rules, StepRange& range, std::string& reason) {
  const std::size_t dash = item.find('-');
  const std::string_view first = item.substr(0, dash);
  const std::string_view last = dash == std::string_view::npos ? first : item.substr(dash + 1);
  if (!only_digits(first) || !only_digits(last)) {
    reason =
        joined({"the item ", in_quotes(item),
                " is neither a step nor a range: write 5 or 3-5, digits only, with | between the items"});
    return false;
  }
  if (!parse_number(first, rules, range.first) || !parse_number(last, rules, range.last)) {
    reason = joined({"the item ", in_quotes(item), " is beyond the largest step, 18446744073709551615"});
    return false;
  }
  if (runs_backwards(range, rules)) {
    reason = joined({"the range ", in_quotes(item), " runs backwards: the smaller step comes first"});
    return false;
  }
  // CANN's device swaps the ends of such a range.
  if (range.first > range.last) std::swap(range.first, range.last);
  return true;
}

}  // namespace

Result<StepSet> parse_steps(std::string_view text, Arena& memory, std::string& reason) {
  if (text.empty()) return StepSet{};
  const std::size_t items = 1 + static_cast<std::size_t>(std::count(text.begin(), text.end(), '|'));
  if (items > kMaxItems) {
    reason = joined({decimal(items), " items, and at most ", decimal(kMaxItems),
                     " are allowed: join neighbouring steps to ranges"});
    return Status::invalid_argument;
  }
  const Result<std::span<StepRange>> ranges = memory.array<StepRange>(items);
  if (!ranges.ok()) return ranges.status();
  std::size_t begin = 0;
  for (StepRange& range : ranges.value()) {
    const std::size_t end = std::min(text.find('|', begin), text.size());
    if (!parse_range(text.substr(begin, end - begin), Rules::cann, range, reason))
      return Status::invalid_argument;
    begin = end + 1;
  }
  return StepSet{ranges.value()};
}

Result<StepSet> parse_iterations(std::string_view text, Arena& memory, std::string& ignored) {
  const auto for_each_range = [&](auto use) {
    for (std::size_t begin = 0; begin <= text.size();) {
      const std::size_t end = std::min(text.find('|', begin), text.size());
      StepRange range{};
      std::string reason;
      if (parse_range(text.substr(begin, end - begin), Rules::mindspore, range, reason)) {
        use(range);
      } else if (ignored.empty()) {
        ignored = std::move(reason);
      }
      begin = end + 1;
    }
  };
  std::size_t found = 0;
  for_each_range([&found](const StepRange&) { ++found; });
  if (found == 0) return kNoSteps;
  const Result<std::span<StepRange>> ranges = memory.array<StepRange>(found);
  if (!ranges.ok()) return ranges.status();
  StepRange* to = ranges.value().data();
  for_each_range([&to](const StepRange& range) { *to++ = range; });
  return StepSet{ranges.value()};
}

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::config
