#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <tuple>

#include "src/tool/cli/step_ranges.hpp"
#include "src/tool/read/journal/journal_line.hpp"
#include "src/tool/verify/findings.hpp"

namespace opdump::tool {

/// Records that were lost, reduced or removed, summed up by operator, recorder and cause. Remembers each such
/// group once, with ranges of steps.
class LossGroups {
 public:
  /// A record of which `journal` tells; `path` is null when nothing says which operator's it was.
  void add(FindingKind kind, const std::string& journal, std::uint32_t recorder, std::uint32_t sequence,
           std::string_view causes, const JournalPath* path, Findings& findings);

  /// Adds a line for each group, for people.
  void tell(Findings& findings);

 private:
  struct Group {
    std::uint64_t count = 0;
    std::uint32_t first = 0;
    std::uint32_t last = 0;
    StepRanges steps;
    bool in_model = false;
  };

  /// By kind, model, operator, recorder and causes.
  std::map<std::tuple<FindingKind, std::string, std::string, std::uint32_t, std::string>, Group> groups_;
};

}  // namespace opdump::tool
