#pragma once
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>

#ifdef __linux__
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#endif

#include "opdump/knobs.hpp"

namespace opdump::posix {
inline namespace OPDUMP_NAMESPACE {

/// Keeps `errno` during a call in a signal handler, which must not change it.
class KeptErrno {
 public:
  KeptErrno() = default;
  KeptErrno(const KeptErrno&) = delete;
  KeptErrno& operator=(const KeptErrno&) = delete;
  ~KeptErrno() { errno = kept_; }

 private:
  const int kept_ = errno;
};

/// An event that one thread sleeps on and any other context sets. `set` takes no lock and is safe in a signal
/// handler, even in one that interrupts a `set`. An event stays set until it is taken. PipeEvent is for any
/// POSIX system: a pipe, with sleeps of whole milliseconds.
class PipeEvent {
 public:
  PipeEvent() = default;
  PipeEvent(const PipeEvent&) = delete;
  PipeEvent& operator=(const PipeEvent&) = delete;
  ~PipeEvent() { close(); }

  /// Makes a closed event ready for use, not set; false when the system refuses what it needs.
  bool open() {
    if (pipe(ends_) != 0) {
      ends_[0] = ends_[1] = -1;
      return false;
    }
    const bool ready = make_ready(ends_[0]) && make_ready(ends_[1]);
    if (!ready) close();
    return ready;
  }

  /// Call it while nobody sets the event or sleeps on it. Does nothing to a closed event.
  void close() {
    for (int& end : ends_) {
      if (end >= 0) ::close(end);
      end = -1;
    }
  }

  /// Call it while the event is open.
  void set() {
    const KeptErrno kept;
    const char byte = 0;
    // If the pipe is full, the event is set already.
    static_cast<void>(!write(ends_[1], &byte, 1));
  }

  /// Takes the event, sleeping at most `us` microseconds until it is set; returns whether it was set. One
  /// thread only.
  bool take_within(std::uint32_t us) {
    pollfd end{};
    end.fd = ends_[0];
    end.events = POLLIN;
    poll(&end, 1, static_cast<int>(us / 1000 + (us % 1000 != 0 ? 1 : 0)));
    bool was_set = false;
    char bytes[64];
    while (read(ends_[0], bytes, sizeof bytes) > 0) was_set = true;
    return was_set;
  }

 private:
  static bool make_ready(int end) {
    return fcntl(end, F_SETFL, O_NONBLOCK) == 0 && fcntl(end, F_SETFD, FD_CLOEXEC) == 0;
  }

  int ends_[2] = {-1, -1};
};

#ifdef __linux__
/// The same, as a word that the kernel watches, with sleeps in microseconds.
class FutexEvent {
 public:
  FutexEvent() = default;
  FutexEvent(const FutexEvent&) = delete;
  FutexEvent& operator=(const FutexEvent&) = delete;

  bool open() {
    set_.store(0, std::memory_order_relaxed);
    return true;
  }

  void close() {}

  void set() {
    const KeptErrno kept;
    // release: the thread that takes the event sees what was done before; pairs with the acquire in `take`.
    set_.store(1, std::memory_order_release);
    // Wakes even if the event was set before: this call may have interrupted a `set` that has not woken anyone yet.
    syscall(SYS_futex, &set_, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
  }

  bool take_within(std::uint32_t us) {
    if (take()) return true;
    const timespec most = {static_cast<time_t>(us / 1'000'000), static_cast<long>(us % 1'000'000) * 1000};
    // Waits by the monotonic clock; returns at once if the event was set meanwhile.
    syscall(SYS_futex, &set_, FUTEX_WAIT_PRIVATE, 0, &most, nullptr, 0);
    return take();
  }

 private:
  // acquire: pairs with the release in `set`. One atomic step, so that no `set` is missed in between.
  bool take() { return set_.exchange(0, std::memory_order_acquire) != 0; }

  static_assert(sizeof(std::atomic<std::uint32_t>) == 4 && std::atomic<std::uint32_t>::is_always_lock_free);
  std::atomic<std::uint32_t> set_{0};
};

using WakeEvent = FutexEvent;
#else
using WakeEvent = PipeEvent;
#endif

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::posix
