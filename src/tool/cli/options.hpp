#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "opdump/types/config.hpp"
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

/// A set of steps; consecutive steps take little memory.
class StepRanges {
 public:
  void add(std::uint64_t step) { add(step, step); }
  void add(std::uint64_t first, std::uint64_t last);

  /// The ranges in order, merged so that no two touch.
  const std::vector<StepRange>& merged();

  /// "step 3", "steps 3-17, 20"; of many ranges, the first few and how many more there are.
  std::string text();

 private:
  std::vector<StepRange> ranges_;
};

/// Steps that a user chose, as "0,3-5" or "0|3-5"; all of them unless some were read.
class ChosenSteps {
 public:
  /// On false `error` says what is wrong.
  bool read(std::string_view text, std::string& error);

  /// Whether the step at the end of a place, "model/step", is among them; a place that tells none serves for all.
  bool takes(std::string_view place) const;

 private:
  std::vector<StepRange> ranges_;
};

}  // namespace opdump::tool
