#pragma once
#include <cstdint>
#include <string>
#include <string_view>
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
