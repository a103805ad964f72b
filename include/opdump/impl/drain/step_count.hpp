#pragma once
#include <cstddef>
#include <cstdint>

#include "opdump/base/build.hpp"
#include "opdump/port/sink.hpp"

namespace opdump {
inline namespace OPDUMP_NAMESPACE {

/// Tells from the facts of objects where a step of a history begins. A step is a step of a model. Where
/// several models run in turn, it lasts until one of them begins its next step; a model beyond kMaxModels in
/// one step begins another. Operators that run on their own belong to the step in which they come. With
/// OPDUMP_SMALL_CODE each object is a step.
class StepCount {
 public:
  static constexpr std::size_t kMaxModels = 8;

  /// Whether a step begins with the object of these facts.
  bool begins([[maybe_unused]] const ObjectFacts& facts) {
    if constexpr (build::kLean) {
      return true;
    } else {
      if (facts.load == 0) return false;
      Run& run = run_of(facts.load);
      // Another recorder may be in a later step of that model.
      if (run.load == facts.load && facts.step <= run.number) return false;
      const bool runs_again = run.step == step_;
      if (runs_again) ++step_;
      run = {facts.load, facts.step, step_};
      return runs_again;
    }
  }

  /// Whether something of step `step` of loading `load` has come, or of a later one.
  bool has_reached(std::uint32_t load, std::uint64_t step) const {
    const Run* const run = find(load);
    return run != nullptr && run->number >= step;
  }

  /// How many steps began after that in which `load` was in its latest one; 0 for a loading that is not known.
  std::uint64_t since(std::uint32_t load) const {
    const Run* const run = find(load);
    return run == nullptr ? 0 : step_ - run->step;
  }

 private:
  /// What was seen of a loaded model.
  struct Run {
    std::uint32_t load = 0;    ///< 0: of none
    std::uint64_t number = 0;  ///< its latest step, as the model counts
    std::uint64_t step = 0;    ///< the one that it fell into here
  };

  const Run* find(std::uint32_t load) const {
    for (const Run& run : runs_) {
      if (load != 0 && run.load == load) return &run;
    }
    return nullptr;
  }

  /// What is known of that model; when nothing is, that of the one that has not run for longest.
  Run& run_of(std::uint32_t load) {
    Run* oldest = runs_;
    for (Run& run : runs_) {
      if (run.load == load) return run;
      if (run.step < oldest->step) oldest = &run;
    }
    return *oldest;
  }

  Run runs_[kMaxModels];
  std::uint64_t step_ = 1;
};

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump
