#pragma once
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "src/tool/cli/commands.hpp"

namespace opdump::tool {

/// One option of a sub-command. A value follows as the next word, or after "=" in the same one.
struct Option {
  std::string_view name;
  std::string_view other_name{};               ///< empty: there is no other name
  bool* flag = nullptr;                        ///< becomes true; the option takes no value
  std::optional<std::string>* text = nullptr;  ///< takes the value; of several, the last one
  std::vector<std::string>* texts = nullptr;   ///< takes every value, as `rest` would without the name
};

/// A sub-command's options and its help.
struct CommandLine {
  std::string_view command;
  std::string_view help;
  std::span<const Option> options;
};

/// Reads `words`; words that are not options go to `rest`, and so does everything after "--". Returns the
/// exit status when the command ends here: after `--help`, or after a usage error, which it reports.
std::optional<int> read_options(const CommandLine& line, Words words, std::vector<std::string>& rest);

/// Says on stderr what is wrong with the command line, and where to find help. Returns the exit status.
int usage_error(std::string_view command, const std::string& reason);

}  // namespace opdump::tool
