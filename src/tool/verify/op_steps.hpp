#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "opdump/base/bytes.hpp"
#include "src/tool/cli/options.hpp"
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

/// One record of a file of digests, as the journal of `device` would name it.
struct DigestedPath {
  JournalPath path;
  bool has_inputs = false;
  bool has_outputs = false;
};

/// Whom the records of a file of digests are told, and what is wrong with the file.
struct DigestListener {
  std::function<void(const DigestedPath& record)> record;
  std::function<void(std::string_view problem)> problem;
};

/// Reads a file of digests, and returns how many records it has. With `may_be_cut`, the beginning or the end
/// may be missing.
std::uint64_t read_digested(Bytes file, std::uint64_t device, bool may_be_cut,
                            const DigestListener& listener);

}  // namespace opdump::tool
