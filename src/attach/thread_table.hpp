#pragma once
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>

#include "opdump/knobs.hpp"

namespace opdump::attaching {
inline namespace OPDUMP_NAMESPACE {

/// Gives each thread a slot of its own for as long as it lives, and those that come when all others are taken
/// the last slot together. Any thread.
class ThreadTable : public std::enable_shared_from_this<ThreadTable> {
 public:
  static constexpr unsigned kMost = OPDUMP_MAX_RECORDERS;

  /// `slots`: at least 1, at most kMost.
  explicit ThreadTable(unsigned slots) : slots_(slots) {}

  /// The calling thread's. The first call of a thread takes a lock, and allocates.
  unsigned slot();

  /// Threads that have a slot now.
  std::uint32_t threads() const { return threads_.load(std::memory_order_relaxed); }
  /// Those that have ever had the last slot while another had it.
  std::uint32_t shared() const { return shared_.load(std::memory_order_relaxed); }

 private:
  friend class SlotsOfThread;

  unsigned take();
  void give_back(unsigned slot);

  const unsigned slots_;
  std::mutex mutex_;
  std::uint32_t users_[kMost] = {};
  std::atomic<std::uint32_t> threads_{0};
  std::atomic<std::uint32_t> shared_{0};
};

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::attaching
