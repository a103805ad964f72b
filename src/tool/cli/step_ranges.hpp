#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "opdump/types/config.hpp"

namespace opdump::tool {

/// A set of steps, small when they follow one another.
class StepRanges {
 public:
  void add(std::uint64_t step) { add(step, step); }
  void add(std::uint64_t first, std::uint64_t last);

  /// The ranges in order, apart from each other.
  const std::vector<StepRange>& merged();

  /// "step 3", "steps 3-17, 20"; the first few ranges and how many more there are.
  std::string text();

 private:
  std::vector<StepRange> ranges_;
};

}  // namespace opdump::tool
