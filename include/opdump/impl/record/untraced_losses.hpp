#pragma once
#include <atomic>
#include <cstdint>

#include "opdump/impl/record/ring_record.hpp"
#include "opdump/types/counts.hpp"

namespace opdump {
inline namespace OPDUMP_NAMESPACE {

/// What a recorder has lost since the last trace in its ring, when the ring had no room for a trace. The next
/// record takes these losses into the ring. If none comes, the drain context reads them here; in a lean build
/// only the final counts include them. Empty without a journal.
class UntoldLosses {
 public:
  // The recorder's.

  /// A record of target number `target` is lost; the next record has `next_sequence`.
  void add(LossCause cause, std::uint8_t target, std::uint32_t next_sequence) {
    LossGap all = gap();
    if constexpr (!build::kFullJournal) {
      all.add(cause, target);
      gap_.store(all.causes, std::memory_order_relaxed);
      return;
    }
    const bool first = all.causes == 0;
    all.add(cause, target);
    // release, all three: chunks committed before are in the ring; pairs with the acquires in `look`. For the
    // first loss the number is stored before the causes too, because the stored one may be old; it is always
    // stored after them, so that the causes belong to it.
    if (first) next_.store(next_sequence, std::memory_order_release);
    gap_.store(static_cast<std::uint16_t>(all.causes | all.target << 8), std::memory_order_release);
    next_.store(next_sequence, std::memory_order_release);
  }

  /// A chunk that reports these losses is committed.
  void clear() { gap_.store(0, std::memory_order_relaxed); }

  [[gnu::always_inline]] LossGap gap() const { return unpacked(gap_.load(std::memory_order_relaxed)); }

  // The drain context's.

  /// The losses before record `next`: if the ring is found empty after this call, every record missing below
  /// that number is lost. Without causes when there are no losses, or when they are changing right now.
  LossGap look(std::uint32_t& next) const {
    next = next_.load(std::memory_order_acquire);
    const LossGap found = unpacked(gap_.load(std::memory_order_acquire));
    return next_.load(std::memory_order_relaxed) == next ? found : LossGap{};
  }

 private:
  static LossGap unpacked(std::uint16_t gap) {
    return LossGap::of(static_cast<LossCauses>(gap & 0xff), static_cast<std::uint8_t>(gap >> 8));
  }

  [[no_unique_address]] Maybe<build::kFullJournal, std::atomic<std::uint32_t>> next_{0u};
  [[no_unique_address]] Maybe<build::kJournal, std::atomic<std::uint16_t>> gap_{std::uint16_t{0}};
};

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump
