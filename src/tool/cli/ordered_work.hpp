#pragma once
#include <cstddef>
#include <functional>

namespace opdump::tool {

/// Work for several threads, with results that are delivered in order.
struct OrderedWork {
  std::size_t count = 0;  ///< items, numbered from 0

  /// Called for every item in the order of their numbers, by one thread at a time, before `work`; may be empty.
  std::function<void(std::size_t item)> take{};

  /// Does one item; `worker` counts from 0, and no two threads are the same worker.
  std::function<void(std::size_t item, std::size_t worker)> work;

  /// Called for every finished item in the order of their numbers, by one thread at a time.
  std::function<void(std::size_t item)> deliver;
};

/// How many items may be finished but not delivered yet. Results need this many places: item modulo this number.
inline constexpr std::size_t kOrderedWindow = 256;

/// Does all items on `workers` threads, one of which is the caller. Returns when the last item is delivered.
void run_in_order(const OrderedWork& work, std::size_t workers);

/// How many threads the process may run at once, at least 1 and at most 16.
std::size_t usable_workers();

}  // namespace opdump::tool
