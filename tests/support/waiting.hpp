#pragma once
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <string>
#include <thread>

namespace opdump::tests {

/// Of everything that a test waits for: minutes, which no busy machine needs.
constexpr std::uint32_t kWaitLimitMs = 300'000;
constexpr std::chrono::milliseconds kWaitLimit(kWaitLimitMs);

/// What reaching the limit is: the end of the program, and no failed check.
[[noreturn]] inline void give_up_waiting(const std::string& what, const std::string& seen = "nothing") {
  std::fprintf(stderr, "waited %u s for %s; seen so far: %s\n", static_cast<unsigned>(kWaitLimitMs / 1000),
               what.c_str(), seen.c_str());
  std::abort();
}

/// Waits for `condition` itself, which any thread may bring about. `seen` says how far it is.
template <class Condition, class Seen>
void wait_until(const char* what, Condition condition, Seen seen) {
  const auto end = std::chrono::steady_clock::now() + kWaitLimit;
  while (!condition()) {
    if (std::chrono::steady_clock::now() >= end) give_up_waiting(what, seen());
    std::this_thread::sleep_for(std::chrono::microseconds(200));
  }
}

template <class Condition>
void wait_until(const char* what, Condition condition) {
  wait_until(what, condition, [] { return std::string("nothing"); });
}

/// For calls that return by themselves: one that has not when the limit is reached ends the program.
class WaitLimit {
 public:
  explicit WaitLimit(const char* what) : what_(what), thread_([this] { watch(); }) {}
  WaitLimit(const WaitLimit&) = delete;
  WaitLimit& operator=(const WaitLimit&) = delete;
  ~WaitLimit() {
    {
      const std::lock_guard lock(mutex_);
      over_ = true;
    }
    changed_.notify_one();
    thread_.join();
  }

 private:
  void watch() {
    std::unique_lock lock(mutex_);
    if (!changed_.wait_for(lock, kWaitLimit, [this] { return over_; }))
      give_up_waiting(what_, "it has not returned");
  }

  const char* const what_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool over_ = false;
  std::thread thread_;  ///< the last one, as it uses the others
};

}  // namespace opdump::tests
