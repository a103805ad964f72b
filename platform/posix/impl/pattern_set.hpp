#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "opdump/types/name_pattern.hpp"

namespace opdump::posix {
inline namespace OPDUMP_NAMESPACE {

/// Many patterns at once: a name is read once for any number of patterns. The state of all patterns after a
/// beginning of a name is computed when a name first reaches it, and kept. Uses the heap.
class PatternSet {
 public:
  /// Gives `pattern`, which must stay as long as the set, the next number, from 0 on. Before the first `match`.
  void add(const NamePattern& pattern);

  std::size_t size() const { return used_.size(); }

  /// Whether one of the patterns matches the whole of `name`, as `matches` does.
  bool match(std::string_view name);

  /// Whether pattern `number` has matched a name so far.
  bool used(std::size_t number) const { return used_[number] != 0; }

 private:
  static constexpr std::uint32_t kNone = UINT32_MAX;    ///< no step or no state: nothing can match any more
  static constexpr std::uint32_t kUnknown = kNone - 1;  ///< a state that was not computed yet
  static constexpr std::size_t kMostBytes = 64u << 20;  ///< of states kept; beyond, the set starts over

  struct Step {
    NameStep::Kind kind;
    std::uint8_t byte;
    const ByteSet* set;
    std::uint32_t a;  ///< the next step
    std::uint32_t b;
    std::uint32_t pattern;
  };

  struct State {
    std::vector<std::uint32_t> steps{};
    std::vector<std::uint32_t> matched{};  ///< patterns that match if the name ends here
    bool told = false;                     ///< `matched` are in `used_`
    std::array<std::uint32_t, 256> next{};
  };

  struct Hash {
    std::size_t operator()(const std::vector<std::uint32_t>& steps) const;
  };

  void reach(std::uint32_t first, bool at_begin, bool at_end);
  std::uint32_t state_of_reached(bool at_begin);
  std::uint32_t begin();
  std::uint32_t next(std::uint32_t state, std::uint8_t byte);
  void forget();

  std::vector<Step> steps_;
  std::vector<std::uint32_t> starts_;  ///< the first step of each pattern
  std::vector<std::uint8_t> used_;
  std::vector<State> states_;
  std::unordered_map<std::vector<std::uint32_t>, std::uint32_t, Hash> numbers_;  ///< of states
  std::uint32_t start_ = kUnknown;
  std::size_t bytes_ = 0;
  std::vector<std::uint32_t> reached_;
  std::vector<std::uint32_t> waiting_;
  std::vector<std::uint32_t> seen_;  ///< for each step, the last round in which it was reached
  std::uint32_t round_ = 0;
};

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::posix
