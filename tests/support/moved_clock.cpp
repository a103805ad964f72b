// For LD_PRELOAD, beside moved_clock.py: a monotonic clock that stands still until the test moves it, and a poll() at
// which the test can hold the program. OPDUMP_MOVED_CLOCK names the file of a Shown.
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdint>

namespace {

struct Shown {
  std::atomic<std::int64_t> ns;
  std::atomic<std::int64_t> hold;  ///< the program waits at its next poll() for input while this is not 0
  std::atomic<std::int64_t> held;  ///< it does
};

Shown& shown() {
  static Shown* const shown = [] {
    const int file = open(getenv("OPDUMP_MOVED_CLOCK"), O_RDWR | O_CLOEXEC);
    void* const at = mmap(nullptr, sizeof(Shown), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (at == MAP_FAILED) abort();
    close(file);
    return static_cast<Shown*>(at);
  }();
  return *shown;
}

}  // namespace

extern "C" int clock_gettime(clockid_t clock, timespec* to) {
  if (clock != CLOCK_MONOTONIC) return static_cast<int>(syscall(SYS_clock_gettime, clock, to));
  const std::int64_t ns = shown().ns;
  to->tv_sec = static_cast<time_t>(ns / 1'000'000'000);
  to->tv_nsec = static_cast<long>(ns % 1'000'000'000);
  return 0;
}

extern "C" int poll(pollfd* files, nfds_t count, int ms) {
  const timespec pause = {.tv_sec = 0, .tv_nsec = 1'000'000};
  while (shown().hold != 0 && (files->events & POLLIN) != 0) {
    shown().held = 1;
    nanosleep(&pause, nullptr);
  }
  shown().held = 0;
  // The time that it would wait for is the test's to pass.
  const timespec most = {.tv_sec = 0, .tv_nsec = 1'000'000 * std::clamp(ms, 0, 5)};
  return ppoll(files, count, &most, nullptr);
}
