#include "src/tool/cli/options.hpp"

#include <cstdio>
#include <utility>

#include "src/config/refusal.hpp"
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

}  // namespace opdump::tool
