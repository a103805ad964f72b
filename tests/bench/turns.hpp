#pragma once
#include <time.h>

#include <algorithm>
#include <cstddef>
#include <vector>

/// For what is measured in turns with something that it is compared with, because neighbours on the machine
/// make both vary.

namespace opdump::bench {

namespace turns {

inline double seconds(clockid_t clock) {
  timespec time;
  clock_gettime(clock, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

inline double seconds_of(clockid_t clock, const auto& work) {
  const double start = seconds(clock);
  work();
  return seconds(clock) - start;
}

}  // namespace turns

/// Of this thread's own time: what others run meanwhile counts only for the memory they keep busy.
inline double thread_seconds_of(const auto& work) {
  return turns::seconds_of(CLOCK_THREAD_CPUTIME_ID, work);
}

/// Of the time that passes, for work of several threads.
inline double wall_seconds_of(const auto& work) {
  return turns::seconds_of(CLOCK_MONOTONIC, work);
}

/// Of at least one value; of an even number of them, the upper of the two in the middle.
inline double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

}  // namespace opdump::bench
