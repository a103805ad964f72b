#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "src/tool/cli/step_ranges.hpp"
#include "src/tool/read/journal/journal_line.hpp"
#include "src/tool/verify/findings.hpp"

namespace opdump::tool {

/// At which of its model's steps each operator was captured, as the journals of a dump tell. Remembers each
/// operator of a journal once, and ranges of steps.
class OpSteps {
 public:
  /// `journal` says that the record at `path` was written or lost.
  void see(const std::string& journal, const JournalPath& path);

  /// Adds the operators that have records at some only of the steps at which their model has records. Those
  /// of a model of which overflows or overwrites were captured are passed over.
  void tell(Findings& findings);

 private:
  struct Model {
    std::string directory;
    std::uint64_t id = 0;
    StepRanges steps{};
    std::map<std::string, StepRanges, std::less<>> ops{};
    bool by_chance = false;  ///< an operator is captured when something goes wrong
  };

  void add_finding(const std::string& journal, const Model& model, const std::string& op, StepRanges& steps,
                   std::uint64_t all, Findings& findings) const;

  /// By journal, and by the model's directory and id within it.
  std::map<std::string, std::map<std::string, Model>> journals_;
};

}  // namespace opdump::tool
