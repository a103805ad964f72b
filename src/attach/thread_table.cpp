#include "src/attach/thread_table.hpp"

#include <vector>

namespace opdump::attaching {
inline namespace OPDUMP_NAMESPACE {

/// The slots that a thread has in tables, which go back when it ends.
class SlotsOfThread {
 public:
  SlotsOfThread() = default;
  SlotsOfThread(const SlotsOfThread&) = delete;
  SlotsOfThread& operator=(const SlotsOfThread&) = delete;
  ~SlotsOfThread() {
    for (const Entry& entry : entries_) entry.table->give_back(entry.slot);
  }

  unsigned of(ThreadTable& table) {
    for (const Entry& entry : entries_) {
      if (entry.table.get() == &table) return entry.slot;
    }
    // Of dumps that are gone only this thread keeps the table.
    std::erase_if(entries_, [](const Entry& entry) { return entry.table.use_count() == 1; });
    entries_.push_back({table.shared_from_this(), table.take()});
    return entries_.back().slot;
  }

 private:
  struct Entry {
    std::shared_ptr<ThreadTable> table;
    unsigned slot;
  };

  std::vector<Entry> entries_;
};

unsigned ThreadTable::slot() {
  thread_local SlotsOfThread slots;
  return slots.of(*this);
}

unsigned ThreadTable::take() {
  const std::lock_guard lock(mutex_);
  threads_.fetch_add(1, std::memory_order_relaxed);
  unsigned slot = 0;
  while (slot + 1 < slots_ && users_[slot] != 0) ++slot;
  if (users_[slot]++ != 0) shared_.fetch_add(1, std::memory_order_relaxed);
  return slot;
}

void ThreadTable::give_back(unsigned slot) {
  const std::lock_guard lock(mutex_);
  threads_.fetch_sub(1, std::memory_order_relaxed);
  --users_[slot];
}

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::attaching
