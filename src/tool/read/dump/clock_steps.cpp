#include "src/tool/read/dump/clock_steps.hpp"

#include <algorithm>

namespace opdump::tool {
namespace {

bool same(const ClockStep& a, const ClockStep& b) {
  return a.shown_us == b.shown_us && a.unix_us == b.unix_us;
}

}  // namespace

bool ClockSteps::add(const ClockStep& step) {
  if (std::any_of(steps_.begin(), steps_.end(), [&](const ClockStep& known) { return same(known, step); }))
    return true;
  const auto at = std::find_if(steps_.begin(), steps_.end(),
                               [&](const ClockStep& known) { return known.unix_us >= step.unix_us; });
  // A clock that was set shows no earlier time afterwards.
  const bool fits = check(step) == Status::ok && steps_.size() < kMost &&
                    (at == steps_.end() || at->shown_us >= step.unix_us) &&
                    (at == steps_.begin() || step.shown_us >= (at - 1)->unix_us);
  sound_ = sound_ && fits;
  if (fits) steps_.insert(at, step);
  return fits;
}

std::uint64_t ClockSteps::time_of(std::uint64_t us) const {
  if (!sound_) return us;
  for (const ClockStep& step : steps_) {
    if (us < step.unix_us) us += step.unix_us - step.shown_us;
  }
  return us;
}

bool ClockSteps::operator==(const ClockSteps& other) const {
  return sound_ == other.sound_ &&
         std::equal(steps_.begin(), steps_.end(), other.steps_.begin(), other.steps_.end(), same);
}

}  // namespace opdump::tool
