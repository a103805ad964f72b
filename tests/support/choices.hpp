#pragma once
#include <cstddef>
#include <vector>

namespace opdump::tests {

/// Runs a scenario once for every way its choices can fall, depth first:
///
///     Choices choices;
///     do {
///       scenario(choices);  // asks choices.pick(...)
///     } while (choices.next());
///
/// The scenario must do the same whenever the same choices fall.
class Choices {
 public:
  /// A number from 0 to `count` - 1; 0 the first time it is asked after a given past.
  int pick(int count) {
    if (at_ == taken_.size()) taken_.push_back({0, count});
    return taken_[at_++].value;
  }

  /// Goes on to the next way; false when there was none left.
  bool next() {
    ++ways_;
    at_ = 0;
    while (!taken_.empty() && ++taken_.back().value == taken_.back().count) taken_.pop_back();
    return !taken_.empty();
  }

  /// Ways finished so far.
  std::size_t ways() const { return ways_; }

 private:
  struct Taken {
    int value;
    int count;
  };

  std::vector<Taken> taken_;
  std::size_t at_ = 0;
  std::size_t ways_ = 0;
};

}  // namespace opdump::tests
