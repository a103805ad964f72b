#include "src/tool/cli/ordered_work.hpp"

#include <sched.h>

#include <algorithm>
#include <array>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

namespace opdump::tool {
namespace {

class Crew {
 public:
  explicit Crew(const OrderedWork& work) : work_(work) {}

  void run(std::size_t workers) {
    std::vector<std::thread> threads;
    for (std::size_t i = 1; i < workers; ++i) threads.emplace_back([this, i] { do_items(i); });
    do_items(0);
    for (std::thread& thread : threads) thread.join();
  }

 private:
  void do_items(std::size_t worker) {
    std::unique_lock lock(mutex_);
    for (;;) {
      room_.wait(lock, [this] { return next_ == work_.count || next_ < delivered_ + kOrderedWindow; });
      if (next_ == work_.count) return;
      const std::size_t item = next_++;
      if (work_.take) work_.take(item);
      lock.unlock();
      work_.work(item, worker);
      lock.lock();
      finished_[item % kOrderedWindow] = true;
      deliver_finished(lock);
    }
  }

  /// Whoever is delivering already takes what becomes ready meanwhile, so nobody waits for it.
  void deliver_finished(std::unique_lock<std::mutex>& lock) {
    if (delivering_) return;
    delivering_ = true;
    while (finished_[delivered_ % kOrderedWindow]) {
      lock.unlock();
      work_.deliver(delivered_);
      lock.lock();
      finished_[delivered_ % kOrderedWindow] = false;
      ++delivered_;
      room_.notify_all();
    }
    delivering_ = false;
  }

  const OrderedWork& work_;
  std::mutex mutex_;
  std::condition_variable room_;
  std::size_t next_ = 0;
  std::size_t delivered_ =
      0;  ///< written under the lock by the thread that is delivering, which reads it freely
  bool delivering_ = false;
  std::array<bool, kOrderedWindow> finished_{};
};

}  // namespace

void run_in_order(const OrderedWork& work, std::size_t workers) {
  Crew(work).run(std::max<std::size_t>(1, std::min(workers, work.count)));
}

std::size_t usable_workers() {
  constexpr int kMost = 16;
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) != 0) return 1;
  return static_cast<std::size_t>(std::clamp(CPU_COUNT(&set), 1, kMost));
}

}  // namespace opdump::tool
