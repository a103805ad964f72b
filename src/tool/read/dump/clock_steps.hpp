#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include "opdump/types/clock_step.hpp"

namespace opdump::tool {

/// The moments at which the clock of one dump, or of one boot, was set, as journals tell them.
class ClockSteps {
 public:
  static constexpr std::size_t kMost = 256;

  /// A step that was added before counts once. False when the step contradicts the others, or is one too
  /// many: from then on nothing is moved.
  bool add(const ClockStep& step);

  /// The time by the calendar of what is stamped `us`.
  std::uint64_t time_of(std::uint64_t us) const;

  bool empty() const { return steps_.empty(); }
  const std::vector<ClockStep>& steps() const { return steps_; }  ///< in their order

  bool operator==(const ClockSteps& other) const;

 private:
  std::vector<ClockStep> steps_;
  bool sound_ = true;
};

}  // namespace opdump::tool
