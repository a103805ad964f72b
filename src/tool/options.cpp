#include "options.hpp"

#include <cstdio>

#include "exit_code.hpp"

namespace opdump::tool {

int usage_error(std::string_view command, const std::string& reason) {
  std::string name = "opdump";
  if (!command.empty()) name.append(" ").append(command);
  std::fprintf(stderr, "%s: %s; see '%s --help'\n", name.c_str(), reason.c_str(), name.c_str());
  return kExitUsage;
}

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
    if (found == nullptr) return usage_error(line.command, "unknown option '" + name + "'");
    if (found->flag != nullptr) {
      if (equals != std::string_view::npos) return usage_error(line.command, "'" + name + "' takes no value");
      *found->flag = true;
    } else if (equals != std::string_view::npos) {
      *found->text = std::string(word.substr(equals + 1));
    } else if (i + 1 < words.size()) {
      *found->text = words[++i];
    } else {
      return usage_error(line.command, "'" + name + "' needs a value");
    }
  }
  return std::nullopt;
}

}  // namespace opdump::tool
