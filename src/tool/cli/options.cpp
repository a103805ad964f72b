#include "src/tool/cli/options.hpp"

#include <algorithm>
#include <cstdio>
#include <optional>
#include <utility>

#include "src/config/refusal.hpp"
#include "src/tool/cli/decimal.hpp"
#include "src/tool/cli/exit_code.hpp"
#include "src/tool/cli/messages.hpp"

namespace opdump::tool {

int usage_error(std::string_view command, const std::string& reason) {
  std::string name = "opdump";
  if (!command.empty()) name.append(" ").append(command);
  say(name + ": " + reason + (reason.ends_with('?') ? " see '" : "; see '") + name + " --help'");
  return kExitUsage;
}

namespace {

/// The end of a sentence; of short names, most are near to one another.
std::string near_option(std::string_view name, std::span<const Option> options) {
  std::vector<std::string_view> names = {"--help"};
  for (const Option& option : options) names.insert(names.end(), {option.name, option.other_name});
  return name.size() < 4 ? std::string() : config::did_you_mean(name, names);
}

}  // namespace

std::optional<int> read_options(const CommandLine& line, Words words, std::vector<std::string>& rest) {
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string_view word = words[i];
    if (word == "--") {
      rest.insert(rest.end(), words.begin() + static_cast<std::ptrdiff_t>(i) + 1, words.end());
      break;
    }
    if (word.size() < 2 || word[0] != '-') {
      rest.emplace_back(word);
      continue;
    }
    const std::size_t equals = word.find('=');
    const std::string name(word.substr(0, equals));
    if (name == "--help" || name == "-h") {
      std::fwrite(line.help.data(), 1, line.help.size(), stdout);
      return kExitOk;
    }
    const Option* found = nullptr;
    for (const Option& option : line.options) {
      if (option.name == name || (!option.other_name.empty() && option.other_name == name)) found = &option;
    }
    if (found == nullptr)
      return usage_error(line.command, "unknown option '" + name + "'" + near_option(name, line.options));
    if (found->flag != nullptr) {
      if (equals != std::string_view::npos) return usage_error(line.command, "'" + name + "' takes no value");
      *found->flag = true;
      continue;
    }
    if (equals == std::string_view::npos && i + 1 == words.size())
      return usage_error(line.command, "'" + name + "' needs a value");
    std::string value(equals != std::string_view::npos ? word.substr(equals + 1) : words[++i]);
    if (found->texts != nullptr) {
      found->texts->push_back(std::move(value));
    } else {
      *found->text = std::move(value);
    }
  }
  return std::nullopt;
}

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
