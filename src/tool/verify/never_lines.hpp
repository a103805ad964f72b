#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "opdump/types/account.hpp"
#include "src/tool/cli/options.hpp"
#include "src/tool/read/journal/journal_line.hpp"
#include "src/tool/verify/findings.hpp"

namespace opdump::tool {

/// What the journals of one dump say was never captured, against all that the dump has. A journal says it of
/// one loading of a model; what another loading captured is not missing. Remembers the
/// operators of each model once, and the steps.
class NeverLines {
 public:
  /// The dump has, or has lost, the record at `path` of device `device`.
  void see(std::uint64_t device, const JournalPath& path);

  /// A line of `journal`. `what` need not stay.
  void add(std::uint64_t device, const std::string& journal, const NeverCaptured& what);

  /// Whether a file of the record at `path` may have a tensor that a line says was never given.
  bool wants_roles(std::uint64_t device, const JournalPath& path) const;

  /// The record at `path` has inputs, outputs or both.
  void see_roles(std::uint64_t device, const JournalPath& path, bool inputs, bool outputs);

  /// A name of the model that is nearly the same as the name that it has not; empty: none is known.
  using Closest =
      std::function<std::string(std::uint64_t device, const std::string& model, const std::string& name)>;

  /// Whether a journal has told anything.
  bool empty() const { return lines_.empty(); }

  /// Adds what is not there in any loading, each once; once no more is seen.
  void tell(const Closest& closest, Findings& findings);

 private:
  /// Device, directory and id of a model.
  using Model = std::tuple<std::uint64_t, std::string, std::uint64_t>;

  using Names = std::set<std::string, std::less<>>;

  struct Seen {
    Names ops;
    Names with_inputs;
    Names with_outputs;
    StepRanges steps;
    std::uint64_t last_step = 0;
  };

  struct Line {
    std::uint64_t device = 0;
    std::string journal;
    NeverCause cause{};
    std::uint64_t model_id = 0;
    std::string model;
    std::string type;
    std::string name;
    StepRange steps{0, 0};
    auto operator<=>(const Line& other) const {
      return std::tie(device, cause, model_id, model, type, name, steps.first, steps.last) <=>
             std::tie(other.device, other.cause, other.model_id, other.model, other.type, other.name,
                      other.steps.first, other.steps.last);
    }
  };

  Seen* seen_of(const Line& line);
  bool is_there(const Line& line);
  StepRanges missing_steps(const Line& line);
  static std::string op_of(const Line& line);
  static std::string lite_op_of(const Line& line);
  static bool holds(const Names& names, const Line& line);
  static void tell(const Line& line, StepRanges* steps, const Closest& closest, Findings& findings);

  std::map<Model, Seen> seen_;
  std::set<std::pair<Model, std::string>> roles_;  ///< operators of which a line misses tensors
  std::vector<Line> lines_;
};

}  // namespace opdump::tool
