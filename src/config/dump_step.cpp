#include "dump_step.hpp"

#include <algorithm>
#include <charconv>
#include <utility>

#include "refusal.hpp"

namespace opdump::config {
namespace {

constexpr std::size_t kMaxItems = 100;

bool parse_number(std::string_view text, std::uint64_t& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc{} && end == text.data() + text.size();
}

bool only_digits(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

bool parse_range(std::string_view item, StepRange& range, std::string& reason) {
  const std::size_t dash = item.find('-');
  const std::string_view first = item.substr(0, dash);
  const std::string_view last = dash == std::string_view::npos ? first : item.substr(dash + 1);
  if (!only_digits(first) || !only_digits(last)) {
    reason = "the item " + quoted(item) +
             " is neither a step nor a range: write 5 or 3-5, digits only, with | between the items";
    return false;
  }
  if (!parse_number(first, range.first) || !parse_number(last, range.last)) {
    reason = "the item " + quoted(item) + " is beyond the largest step, 18446744073709551615";
    return false;
  }
  if (range.first > range.last) {
    reason = "the range " + quoted(item) + " runs backwards: the smaller step comes first";
    return false;
  }
  return true;
}

}  // namespace

Result<StepSet> parse_steps(std::string_view text, Arena& memory, std::string& reason) {
  if (text.empty()) return StepSet{};
  const std::size_t items = 1 + static_cast<std::size_t>(std::count(text.begin(), text.end(), '|'));
  if (items > kMaxItems) {
    reason = std::to_string(items) + " items, and at most " + std::to_string(kMaxItems) +
             " are allowed: join neighbouring steps to ranges";
    return Status::invalid_argument;
  }
  const Result<std::span<StepRange>> ranges = memory.array<StepRange>(items);
  if (!ranges.ok()) return ranges.status();
  std::size_t begin = 0;
  for (StepRange& range : ranges.value()) {
    const std::size_t end = std::min(text.find('|', begin), text.size());
    if (!parse_range(text.substr(begin, end - begin), range, reason)) return Status::invalid_argument;
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
      if (parse_range(text.substr(begin, end - begin), range, reason)) {
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

}  // namespace opdump::config
