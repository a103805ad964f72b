// For LD_PRELOAD: a monotonic clock that has gone on by 50 ms at each reading, so that what a program shows
// now and then is due at every few of its readings, however fast the machine is.
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <atomic>

extern "C" int clock_gettime(clockid_t clock, timespec* to) {
  constexpr long kStepMs = 50;
  static std::atomic<long> readings{0};
  const int result = static_cast<int>(syscall(SYS_clock_gettime, clock, to));
  if (result != 0 || clock != CLOCK_MONOTONIC) return result;
  const long ahead_ms = ++readings * kStepMs + to->tv_nsec / 1'000'000;
  to->tv_sec += ahead_ms / 1000;
  to->tv_nsec = ahead_ms % 1000 * 1'000'000 + to->tv_nsec % 1'000'000;
  return result;
}
