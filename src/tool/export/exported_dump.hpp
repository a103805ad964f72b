#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/tool/compare/compare_side.hpp"

namespace opdump::tool {

/// Stands for a task that is not known.
inline constexpr std::uint64_t kNoTask = 65535;

/// One operator in one of its runs.
struct ExportedOp {
  std::string model;  ///< empty: not known
  std::uint64_t model_id = 0;
  std::string type;  ///< empty: not known
  std::string name;
  std::size_t file = 0;              ///< its first, in DumpSide::files
  std::vector<std::size_t> tensors;  ///< in DumpSide::tensors, inputs first
};

/// What ran at one step of one device.
struct ExportedStep {
  std::optional<std::uint32_t> boot;
  std::uint64_t rank = 0;  ///< the device, or MindSpore's rank
  std::uint64_t step = 0;  ///< also of what tells no step
  bool several_models = false;
  std::vector<ExportedOp> ops;  ///< in the order in which they ran, as far as the dump tells it
};

/// A dump as files of other programs have it: by step. Holds what is known of the tensors, not their
/// elements. Names are those of the dump, with '_' for blanks, dots and slashes, and '?' for what is not
/// UTF-8 or would control a terminal.
struct ExportedDump {
  DumpSide side;
  std::vector<ExportedStep> steps;  ///< by boot, step and rank
  bool several_ranks = false;

  DumpTensor tensor(std::size_t index) const { return side.tensors[index]; }
  std::uint64_t data_bytes() const;
};

/// Sorts the tensors of `side`.
ExportedDump exported(DumpSide side);

/// Numbers what has the same name.
class Repeats {
 public:
  /// How often it was asked for the name before.
  std::uint64_t next(const std::string& name) { return seen_[name]++; }

 private:
  std::map<std::string, std::uint64_t> seen_;
};

/// `{model}/{step}/{type}.{name}`; without a model `{step}/{type}.{name}`. `repeat`: if it is not 0, another
/// part with this number follows.
std::string key_of(const ExportedStep& step, const ExportedOp& op, std::uint64_t repeat);

/// "output.0"
std::string role_of(const DumpTensor& tensor);

/// Directory for the files of a step: "step3", with "boot2" and "rank1" where the dump has several of them.
std::string directory_of(const ExportedDump& dump, const ExportedStep& step);

/// What frameworks call a tensor: what the card calls it, or `{op}:{index}`. Nothing for an input that the
/// card does not tell. `repeat` as for `key_of`.
std::string framework_name(const ExportedDump& dump, const ExportedOp& op, const DumpTensor& tensor,
                           const CardedOps* card, std::uint64_t repeat);

}  // namespace opdump::tool
