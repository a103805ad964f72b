#include "platform/posix/impl/pattern_set.hpp"

#include <algorithm>
#include <functional>
#include <string_view>

namespace opdump::posix {
inline namespace OPDUMP_NAMESPACE {

using Kind = NameStep::Kind;

void PatternSet::add(const NamePattern& pattern) {
  const auto base = static_cast<std::uint32_t>(steps_.size());
  const std::size_t count = std::min(pattern.steps.size(), kMaxNameSteps);
  const auto place = [&](std::size_t step) {
    return step < count ? base + static_cast<std::uint32_t>(step) : kNone;
  };
  for (std::size_t i = 0; i < count; ++i) {
    const NameStep& from = pattern.steps[i];
    Step step = {from.kind, from.a, nullptr, place(i + 1), kNone, static_cast<std::uint32_t>(used_.size())};
    if (from.kind == Kind::fork) {
      step.a = place(from.a);
      step.b = place(from.b);
    }
    if (from.kind == Kind::set && from.a < pattern.sets.size()) step.set = &pattern.sets[from.a];
    steps_.push_back(step);
  }
  starts_.push_back(place(0));
  used_.push_back(0);
  seen_.resize(steps_.size(), 0);
}

bool PatternSet::match(std::string_view name) {
  std::uint32_t state = begin();
  for (std::size_t i = 0; i < name.size() && state != kNone; ++i)
    state = next(state, static_cast<std::uint8_t>(name[i]));
  if (state == kNone) return false;
  State& end = states_[state];
  if (!end.told) {
    for (const std::uint32_t pattern : end.matched) used_[pattern] = 1;
  }
  end.told = true;
  return !end.matched.empty();
}

std::size_t PatternSet::Hash::operator()(const std::vector<std::uint32_t>& steps) const {
  const char* const bytes = reinterpret_cast<const char*>(steps.data());
  return std::hash<std::string_view>{}({bytes, steps.size() * sizeof(std::uint32_t)});
}

/// Adds to `reached_` the step `first` and all steps that follow it without taking a byte.
void PatternSet::reach(std::uint32_t first, bool at_begin, bool at_end) {
  const auto put = [this](std::uint32_t step) {
    if (step == kNone || seen_[step] == round_) return;
    seen_[step] = round_;
    reached_.push_back(step);
    waiting_.push_back(step);
  };
  put(first);
  while (!waiting_.empty()) {
    const Step& step = steps_[waiting_.back()];
    waiting_.pop_back();
    if (step.kind == Kind::fork) {
      put(step.a);
      put(step.b);
    } else if ((step.kind == Kind::begin && at_begin) || (step.kind == Kind::end && at_end)) {
      put(step.a);
    }
  }
}

/// The state that stands for `reached_`, which is used up.
std::uint32_t PatternSet::state_of_reached(bool at_begin) {
  if (reached_.empty()) return kNone;
  std::sort(reached_.begin(), reached_.end());
  if (!at_begin) {
    const auto found = numbers_.find(reached_);
    if (found != numbers_.end()) return found->second;
  }
  const auto number = static_cast<std::uint32_t>(states_.size());
  State& state = states_.emplace_back();
  state.steps = reached_;
  state.next.fill(kUnknown);
  if (!at_begin) numbers_.emplace(reached_, number);
  bytes_ += sizeof(State) + 2 * reached_.size() * sizeof(std::uint32_t) + 64;
  for (std::size_t i = 0; i < state.steps.size(); ++i) {
    const Step& step = steps_[state.steps[i]];
    if (step.kind == Kind::end) reach(step.a, at_begin, true);
  }
  for (const std::uint32_t step : reached_) {
    if (steps_[step].kind == Kind::match) state.matched.push_back(steps_[step].pattern);
  }
  return number;
}

std::uint32_t PatternSet::begin() {
  if (start_ != kUnknown) return start_;
  ++round_;
  reached_.clear();
  for (const std::uint32_t start : starts_) reach(start, true, false);
  return start_ = state_of_reached(true);
}

std::uint32_t PatternSet::next(std::uint32_t state, std::uint8_t byte) {
  if (const std::uint32_t known = states_[state].next[byte]; known != kUnknown) return known;
  ++round_;
  reached_.clear();
  for (const std::uint32_t number : states_[state].steps) {
    const Step& step = steps_[number];
    const bool takes = step.kind == Kind::byte
                           ? step.byte == byte
                           : step.kind == Kind::set && step.set != nullptr && contains(*step.set, byte);
    if (takes) reach(step.a, false, false);
  }
  if (bytes_ > kMostBytes) {
    forget();
    return state_of_reached(false);
  }
  const std::uint32_t next = state_of_reached(false);
  states_[state].next[byte] = next;
  return next;
}

void PatternSet::forget() {
  numbers_.clear();
  states_.clear();
  start_ = kUnknown;
  bytes_ = 0;
}

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::posix
