#pragma once
#include <atomic>
#include <cstdint>
#include <type_traits>

#include "opdump/clock.hpp"
#include "opdump/drainer.hpp"
#include "opdump/dump_options.hpp"
#include "opdump/overflow.hpp"
#include "opdump/reduction.hpp"
#include "opdump/restorer.hpp"
#include "opdump/targets.hpp"
#include "opdump/watch.hpp"

namespace opdump {
inline namespace OPDUMP_NAMESPACE {

/// Something that sleeps until a ring fills, such as a drain thread.
class Waker {
 public:
  /// Called on a recorder's thread when its ring is more than half full or has no room; must not block for
  /// long.
  virtual void wake() = 0;

  /// Whether there is somebody to wake: a child after fork() lacks its parent's threads.
  virtual bool is_there() const {
    return true;
  }

 protected:
  ~Waker() = default;
};

/// In the place of an atomic pointer to one, where recorders wake nobody.
struct NoWaker {
  static Waker* load(std::memory_order) { return nullptr; }
  static void store(Waker*, std::memory_order) {}
};

template <class Memory>
class BasicRecorder;

/// What the recorders of one session share. Set while no step is open, but for the waker.
template <class Memory>
struct RecorderContext {
  Memory* memory = nullptr;
  Clock* clock = nullptr;
  Drainer* drainer = nullptr;
#if OPDUMP_STATISTICS
  Reduction* reduction = nullptr;
#else
  static constexpr Reduction* reduction = nullptr;
#endif
#if OPDUMP_SMALL_CODE == 0
  Restorer* restorer = nullptr;
#endif
  const Targets* targets = nullptr;
#if OPDUMP_OVERFLOW
  OverflowCheck* overflow = nullptr;
#if OPDUMP_MAX_RECORDERS != 1
  const BasicRecorder<Memory>* recorders = nullptr;  ///< OPDUMP_MAX_RECORDERS of them
#endif
  std::uint32_t overflow_number = 0;  ///< overflows that are captured; 0: all
#endif
#if OPDUMP_FAULTS
  WatchListener* watch_listener = nullptr;
  bool watch_changes_only = false;
  bool failures = false;  ///< the latest config wants operators that failed
#endif
  [[no_unique_address]] std::conditional_t<OPDUMP_WAIT != 0, std::atomic<Waker*>, NoWaker> waker{};
  std::uint32_t block_limit_ms = 1000;
  std::uint32_t generation = 0;  ///< of the session; 0: it is off
  WhenFull when_full = WhenFull::block;
  std::uint8_t target = Targets::kNone;  ///< of the latest config
  bool single_ops = false;               ///< the latest config wants operators run outside a model
  std::uint8_t single_bits = 0;
};

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump
