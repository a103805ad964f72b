#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "opdump/types/config.hpp"

namespace opdump::tool {

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

}  // namespace opdump::tool
