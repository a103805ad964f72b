#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "opdump/base/build.hpp"
#include "opdump/impl/drain/drainer.hpp"
#include "opdump/impl/record/part_interfaces.hpp"
#include "opdump/impl/record/targets.hpp"
#include "opdump/port/clock.hpp"
#include "opdump/port/device_copy.hpp"
#include "opdump/port/listeners.hpp"
#include "opdump/port/waker.hpp"
#include "opdump/types/config.hpp"
#include "opdump/types/overflow.hpp"

namespace opdump {
inline namespace OPDUMP_NAMESPACE {

template <class Memory>
class BasicRecorder;

/// What the recorders of one session share. Set while no step is open, but for `waker` and `crashed`.
template <class Memory>
struct RecorderContext {
  Memory* memory = nullptr;
  Clock* clock = nullptr;
  Drainer* drainer = nullptr;
  [[no_unique_address]] Maybe<build::kStatistics, Reduction*> reduction{};
  [[no_unique_address]] Maybe<!build::kLean, Restorer*> restorer{};
  /// Null: no config has rules of the privacy.
  [[no_unique_address]] Maybe<!build::kLean, PrivacyFilter<Memory>*> kept{};
  /// Null: no config has triggers.
  [[no_unique_address]] Maybe<!build::kLean, TriggerWatch<Memory>*> triggers{};
  /// Null: nobody is told of faulty tensors.
  [[no_unique_address]] Maybe<!build::kLean, SessionLog*> log{};
  const Targets* targets = nullptr;
  [[no_unique_address]] Maybe<build::kOverflow, OverflowCheck*> overflow{};
  /// OPDUMP_MAX_RECORDERS of them.
  [[no_unique_address]] Maybe<build::kOverflow && OPDUMP_MAX_RECORDERS != 1, const BasicRecorder<Memory>*>
      recorders{};
  /// Overflows that are captured; 0: all.
  [[no_unique_address]] Maybe<build::kOverflow, std::uint32_t> overflow_number{};
  [[no_unique_address]] Maybe<build::kFaults, WatchListener*> watch_listener{};
  [[no_unique_address]] Maybe<build::kFaults, bool, 1> watch_changes_only{};
  /// The latest config wants operators that failed.
  [[no_unique_address]] Maybe<build::kFaults, bool, 2> failures{};
  [[no_unique_address]] Maybe<build::kFaults, std::atomic<bool>> crashed{false};
  [[no_unique_address]] Maybe<build::kWait, std::atomic<Waker*>> waker{};
  std::uint32_t block_limit_ms = 1000;
  std::uint32_t generation = 0;          ///< of the session; 0: it is off
  WhenFull when_full = WhenFull::block;  ///< of recorders without one of their own
  std::uint8_t target = Targets::kNone;  ///< of the latest config
  bool single_ops = false;               ///< the latest config wants operators run outside a model
  std::uint8_t single_bits = 0;
};

/// Whether all recorders together, one of which has `own`, have found more overflows than are captured. Two
/// that count at the same moment may both find so.
template <class Memory>
bool enough_overflows(const RecorderContext<Memory>& context, const OverflowTally& own) {
  const std::uint32_t most = context.overflow_number;
  if (most == 0) return false;
  if constexpr (OPDUMP_MAX_RECORDERS == 1) {
    return own.count() > most;
  } else {
    std::uint32_t sum = 0;
    for (std::size_t i = 0; i < OPDUMP_MAX_RECORDERS; ++i) sum += context.recorders[i].overflows();
    return sum > most;
  }
}

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump
