#pragma once
#include <atomic>
#include <cstdint>

#include "clean_relacy.hpp"
#include "opdump/ring.hpp"

namespace opdump::tests {

/// std::atomic's face on relacy's atomic, which may answer a load with any value the memory model allows.
template <class T>
class CheckedAtomic {
 public:
  CheckedAtomic(T value) : value_(value) {}

  T load(std::memory_order order, const char* file = __builtin_FILE(), int line = __builtin_LINE()) const {
    return value_.load(relacy_order(order), place(file, line));
  }

  void store(T value, std::memory_order order, const char* file = __builtin_FILE(),
             int line = __builtin_LINE()) {
    value_.store(value, relacy_order(order), place(file, line));
  }

  bool compare_exchange_strong(T& expected, T value, std::memory_order success, std::memory_order failure,
                               const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
    return value_.compare_exchange_strong(expected, value, relacy_order(success), place(file, line),
                                          relacy_order(failure), place(file, line));
  }

 private:
  static rl::debug_info place(const char* file, int line) { return {"", file, static_cast<unsigned>(line)}; }

  static rl::memory_order relacy_order(std::memory_order order) {
    switch (order) {
      case std::memory_order_relaxed:
        return rl::mo_relaxed;
      case std::memory_order_consume:
        return rl::mo_consume;
      case std::memory_order_acquire:
        return rl::mo_acquire;
      case std::memory_order_release:
        return rl::mo_release;
      case std::memory_order_acq_rel:
        return rl::mo_acq_rel;
      case std::memory_order_seq_cst:
        break;
    }
    return rl::mo_seq_cst;
  }

  rl::atomic<T> value_;
};

/// Shows relacy's race detector every access to a ring's memory, 8 bytes at a time.
class WatchedMemory {
 public:
  static constexpr std::uint32_t kMaxBytes = 64 * 16;

  MutableBytes bytes(std::uint32_t count) { return MutableBytes(bytes_).first(count); }

  void write(std::uint32_t offset, std::uint32_t count, const rl::debug_info& place) {
    RL_ASSERT(offset % kCell == 0 && count <= kMaxBytes && offset + count <= kMaxBytes);
    for (std::uint32_t at = offset; at < offset + count; at += kCell) cells_[at / kCell](place).store(1);
  }

  void read(std::uint32_t offset, std::uint32_t count, const rl::debug_info& place) {
    RL_ASSERT(offset % kCell == 0 && count <= kMaxBytes && offset + count <= kMaxBytes);
    for (std::uint32_t at = offset; at < offset + count; at += kCell) cells_[at / kCell](place).load();
  }

  std::uint32_t offset_of(const std::byte* at) const { return static_cast<std::uint32_t>(at - bytes_); }

 private:
  static constexpr std::uint32_t kCell = 8;

  alignas(8) std::byte bytes_[kMaxBytes];
  rl::var<int> cells_[kMaxBytes / kCell];
};

/// A ring's parts under test. relacy runs one execution at a time, so there is one memory at a time.
struct CheckedParts {
  template <class T>
  using Atomic = CheckedAtomic<T>;

  static void will_write(std::uint32_t offset, std::uint32_t bytes, const char* file = __builtin_FILE(),
                         int line = __builtin_LINE()) {
    memory->write(offset, bytes, {"", file, static_cast<unsigned>(line)});
  }

  static void will_read(std::uint32_t offset, std::uint32_t bytes, const char* file = __builtin_FILE(),
                        int line = __builtin_LINE()) {
    memory->read(offset, bytes, {"", file, static_cast<unsigned>(line)});
  }

  static inline WatchedMemory* memory = nullptr;
};

}  // namespace opdump::tests
