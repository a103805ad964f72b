#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/tool/judge/compare/compare_side.hpp"

namespace opdump::tool {

/// One operator in one of its runs.
struct ExportedOp {
  std::string model;  ///< empty: not known
  std::string type;   ///< empty: not known
  std::string name;
  std::size_t file = 0;              ///< its first, in DumpSide::files
  std::vector<std::size_t> tensors;  ///< in DumpSide::tensors, inputs first
};

/// What ran at one step of one device.
struct ExportedStep {
  std::optional<std::uint32_t> boot;
  std::uint64_t rank = 0;       ///< the device, or MindSpore's rank
  std::uint64_t step = 0;       ///< also of what tells no step
  std::vector<ExportedOp> ops;  ///< in the order in which they ran, as far as the dump tells it
};

/// A dump as safetensors files have it: by step. Holds what is known of the tensors, not their
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

/// What the file of a step is called: "step3", with "boot2" and "rank1" where the dump has several of them.
std::string name_of(const ExportedDump& dump, const ExportedStep& step);

}  // namespace opdump::tool
