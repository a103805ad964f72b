#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "src/tool/judge/compare/compare_side.hpp"

namespace opdump::tool {

/// Who wrote what on one side of a comparison, by what the tensors hold. Reads elements when it is asked, each
/// tensor once, and keeps 8 bytes of each: elements are the same where those 64 bits of a hash are. The side has to
/// outlive this object.
class SideContent {
 public:
  explicit SideContent(const DumpSide& side);

  const DumpSide& side() const { return side_; }

  /// A sum of the elements; nothing of statistics, and of what cannot be read.
  std::optional<std::uint64_t> sum(std::size_t tensor);

  bool has_same_elements(std::size_t tensor, std::size_t other);
  bool has_same_elements(std::size_t tensor, SideContent& other_side, std::size_t other);

  /// The latest output before an input, at the same step, that it is: by its elements, or where none has
  /// these, by its name in a card.
  std::optional<std::size_t> writer(std::size_t input);

  /// Whether no output of the step can be that input, which is known without a look at elements.
  bool is_surely_unwritten(std::size_t input) const;

  /// The same tensor of the same operator at the other steps.
  const std::vector<std::size_t>& at_all_steps(std::size_t tensor);

  /// Whether a tensor is the same at all steps; nothing where there is only one.
  std::optional<bool> is_same_at_all_steps(std::size_t tensor);

  /// The tensors of the same step, in the order in which operators ran.
  const std::vector<std::size_t>& of_step(std::size_t tensor) const;

 private:
  std::size_t step_of(std::size_t tensor) const { return steps_of_[tensor]; }

  const DumpSide& side_;
  std::vector<std::vector<std::size_t>> steps_;
  std::vector<std::size_t> steps_of_;
  std::vector<std::optional<std::optional<std::uint64_t>>> sums_;
  std::map<std::string, std::vector<std::size_t>> roles_;  ///< by operator, role and index
};

}  // namespace opdump::tool
