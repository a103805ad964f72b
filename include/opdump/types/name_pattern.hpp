#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "opdump/base/status.hpp"

namespace opdump {
inline namespace OPDUMP_NAMESPACE {

/// A set of byte values: bit `value % 8` of byte `value / 8`.
using ByteSet = std::array<std::uint8_t, 32>;

constexpr bool contains(const ByteSet& set, std::uint8_t value) {
  return ((set[value / 8] >> (value % 8)) & 1) != 0;
}

/// One step of a pattern's program. All fields are bytes, so that a program can lie in flash as it is.
struct NameStep {
  enum class Kind : std::uint8_t {
    match,  ///< the whole name is matched if it ends here
    byte,   ///< takes the byte `a`, then goes on with the next step
    set,    ///< takes a byte of the set number `a`, then goes on with the next step
    fork,   ///< goes on with the steps number `a` and `b` at once
    begin,  ///< goes on with the next step at the start of the name only
    end,    ///< goes on with the next step at the end of the name only
  };
  Kind kind = Kind::match;
  std::uint8_t a = 0;
  std::uint8_t b = 0;
};

/// The most steps of a program: their numbers are bytes.
inline constexpr std::size_t kMaxNameSteps = 256;

/// Takes names: a regular expression, compiled when the config is read, or a glob, which is its text alone.
struct NamePattern {
  std::string_view text{};  ///< as it was written
  std::span<const NameStep> steps{};
  std::span<const ByteSet> sets{};
};

/// The steps of a program that a name has reached so far.
class NameStates {
 public:
  constexpr explicit NameStates(const NamePattern& pattern) : pattern_(&pattern) {}

  /// Adds the step number `first`, and every step that it reaches without taking a byte.
  constexpr void add(std::size_t first, bool at_begin, bool at_end) {
    std::uint8_t waiting[kMaxNameSteps];
    std::size_t count = 0;
    const auto put = [&](std::size_t step) {
      if (step < pattern_->steps.size() && step < kMaxNameSteps && !has(step)) {
        bits_[step / 32] |= 1u << (step % 32);
        waiting[count++] = static_cast<std::uint8_t>(step);
      }
    };
    put(first);
    while (count != 0) {
      const std::size_t at = waiting[--count];
      const NameStep& step = pattern_->steps[at];
      if (step.kind == NameStep::Kind::fork) {
        put(step.a);
        put(step.b);
      } else if ((step.kind == NameStep::Kind::begin && at_begin) ||
                 (step.kind == NameStep::Kind::end && at_end)) {
        put(at + 1);
      }
    }
  }

  constexpr bool has(std::size_t step) const { return ((bits_[step / 32] >> (step % 32)) & 1) != 0; }

  constexpr bool takes(std::size_t step, std::uint8_t byte) const {
    const NameStep& at = pattern_->steps[step];
    if (at.kind == NameStep::Kind::byte) return at.a == byte;
    return at.kind == NameStep::Kind::set && at.a < pattern_->sets.size() &&
           contains(pattern_->sets[at.a], byte);
  }

  constexpr bool matched() const {
    for (std::size_t step = 0; step < pattern_->steps.size() && step < kMaxNameSteps; ++step) {
      if (has(step) && pattern_->steps[step].kind == NameStep::Kind::match) return true;
    }
    return false;
  }

 private:
  const NamePattern* pattern_;
  std::uint32_t bits_[kMaxNameSteps / 32] = {};
};

/// Whether `pattern` matches the whole of `name`. Takes time proportional to the name times the steps, and stack
/// for a byte and two bits per step; an invalid program matches nothing. For model load.
constexpr bool matches(const NamePattern& pattern, std::string_view name) {
  NameStates states(pattern);
  states.add(0, true, name.empty());
  for (std::size_t i = 0; i < name.size(); ++i) {
    NameStates next(pattern);
    for (std::size_t step = 0; step < pattern.steps.size() && step < kMaxNameSteps; ++step) {
      if (states.has(step) && states.takes(step, static_cast<std::uint8_t>(name[i])))
        next.add(step + 1, false, i + 1 == name.size());
    }
    states = next;
  }
  return states.matched();
}

/// Whether `glob`, where `*` stands for any characters and `?` for one, takes the whole of `name`, each
/// character of which is taken as `as(character)`.
template <class As>
constexpr bool takes_glob(std::string_view glob, std::string_view name, As as) {
  std::size_t at = 0, from = 0;
  std::size_t retry = glob.npos;  // behind the latest `*`, which has taken all before `from`
  for (std::size_t i = 0; i < name.size();) {
    if (at < glob.size() && glob[at] == '*') {
      retry = ++at;
      from = i;
    } else if (at < glob.size() && (glob[at] == '?' || glob[at] == as(name[i]))) {
      ++at;
      ++i;
    } else {
      if (retry == glob.npos) return false;
      at = retry;
      i = ++from;
    }
  }
  return glob.find_first_not_of('*', at) == glob.npos;
}

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump
